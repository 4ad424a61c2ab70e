/* Every case of the shared table, every bad setting, and the errors of callers. */
#include "test.h"
#include <sys/mman.h>
#include <unistd.h>

static asr_status call(const test_case *c, asr_verifier *verifier, char **json, size_t *length, asr_error *error) {
    const file *first = &c->evidence[0];
    if (!strcmp(c->call, "verify")) return asr_verify(verifier, first->bytes, first->length, c->flags, json, length, error);
    if (!strcmp(c->call, "answer")) return asr_answer(verifier, first->bytes, first->length, c->flags, json, length, error);
    if (!strcmp(c->call, "decode")) return asr_decode_unverified(first->bytes, first->length, json, length, error);
    if (!strcmp(c->call, "extract_transaction_id_from_app_receipt"))
        return asr_extract_transaction_id_from_app_receipt(verifier, first->bytes, first->length, json, length, error);
    if (!strcmp(c->call, "extract_transaction_id_from_transaction_receipt"))
        return asr_extract_transaction_id_from_transaction_receipt(verifier, first->bytes, first->length, json, length, error);
    check(!strcmp(c->call, "entitlements"));
    size_t lengths[8], total = 0;
    for (size_t i = 0; i < c->count; i++) total += lengths[i] = c->evidence[i].length;
    unsigned char *all = malloc(total ? total : 1), *end = all;
    for (size_t i = 0; i < c->count; i++) end = (unsigned char *)memcpy(end, c->evidence[i].bytes, lengths[i]) + lengths[i];
    asr_status status = asr_entitlements(verifier, all, lengths, c->count, c->date, c->environment, json, length, error);
    free(all);
    return status;
}

static int run(const test_case *c) {
    char *json = (char *)1;
    size_t length = 1;
    asr_error error;
    memset(&error, 1, sizeof error);
    asr_verifier *verifier;
    asr_options *options = options_of(c);
    asr_status status = asr_verifier_new(options, &verifier, &json, &length, &error);
    asr_options_free(options);
    check((verifier != NULL) == (status == ASR_VERIFIED));
    if (status == ASR_VERIFIED && strcmp(c->call, "new")) {
        check(!json && !length && !*error.code && !*error.category);
        /* Without any output, the status is the same. */
        check(call(c, verifier, NULL, NULL, NULL) == c->status);
        status = call(c, verifier, &json, &length, &error);
    }
    int right = status == c->status && !strcmp(error.code, c->code) && !strcmp(error.category, c->category)
        && (c->json ? json && !strcmp(json, c->json) && length == strlen(json) : !json && !length);
    if (!right)
        fprintf(stderr, "%s: status %d, code %s, category %s, JSON %s\n", c->name, (int)status, error.code, error.category, json ? json : "NULL");
    asr_free(json);
    asr_verifier_free(verifier);
    return right;
}

static void callers_errors(void) {
    const test_case *receipt = case_named("receipt");
    asr_verifier *verifier = verifier_of(receipt);
    asr_options *options = asr_options_new();
    char *json;
    size_t length;
    asr_error error;
#define usage(expression) \
    do { \
        check((expression) == ASR_USAGE); \
        check(!json && !length && !strcmp(error.code, "usage") && !strcmp(error.category, "host")); \
    } while (0)
    size_t one = 1, huge[] = {1, SIZE_MAX}, large[] = {SIZE_MAX / 2, SIZE_MAX / 2};
    usage(asr_verify(NULL, "a", 1, 0, &json, &length, &error));
    usage(asr_verify(verifier, NULL, 1, 0, &json, &length, &error));
    usage(asr_verify(verifier, "a", SIZE_MAX, 0, &json, &length, &error));
    usage(asr_verify(verifier, "a", 1, 3, &json, &length, &error));
    usage(asr_answer(NULL, "a", 1, 0, &json, &length, &error));
    usage(asr_answer(verifier, "a", 1, 32, &json, &length, &error));
    usage(asr_entitlements(verifier, "a", NULL, 1, 0, 0, &json, &length, &error));
    usage(asr_entitlements(verifier, "a", huge, 2, 0, 0, &json, &length, &error));
    usage(asr_entitlements(verifier, "a", large + 1, SIZE_MAX, 0, 0, &json, &length, &error));
    usage(asr_entitlements(verifier, NULL, &one, 1, 0, 0, &json, &length, &error));
    usage(asr_entitlements(verifier, "a", &one, 1, ASR_DATE_SIGNING, 0, &json, &length, &error));
    usage(asr_entitlements(verifier, "a", &one, 1, 0, 5, &json, &length, &error));
    usage(asr_extract_transaction_id_from_app_receipt(NULL, "a", 1, &json, &length, &error));
    usage(asr_extract_transaction_id_from_transaction_receipt(verifier, NULL, 1, &json, &length, &error));
    usage(asr_decode_unverified(NULL, 1, &json, &length, &error));
    usage(asr_verifier_new(options, NULL, &json, &length, &error));
    asr_verifier *none = verifier;
    usage(asr_verifier_new(NULL, &none, &json, &length, &error));
    check(!none);
    check(asr_counts(NULL, &json, &length) == ASR_USAGE && !json && !length);

    check(asr_options_add_bundle_id(options, NULL) == ASR_USAGE);
    check(asr_options_add_bundle_id(options, "\xff") == ASR_USAGE);
    check(asr_options_add_bundle_id(NULL, "a") == ASR_USAGE);
    check(asr_options_add_environment(options, "Production") == ASR_USAGE);
    check(asr_options_set_app_apple_id(options, "0") == ASR_USAGE);
    check(asr_options_set_app_apple_id(options, "id1") == ASR_USAGE);
    check(asr_options_add_distrusted(options, "00") == ASR_USAGE);
    check(asr_options_add_roots(options, "no certificate", 14) == ASR_USAGE);
    check(asr_options_add_roots(options, receipt->roots[0].bytes, receipt->roots[0].length - 1) == ASR_USAGE);
    check(asr_options_add_roots(options, "-----BEGIN CERTIFICATE-----\n", 28) == ASR_USAGE);
    check(asr_options_add_roots(options, NULL, 0) == ASR_USAGE);
    check(asr_options_set_clock(options, ASR_DATE_SIGNING) == ASR_USAGE);
    check(asr_options_set_binding(options, "cobol") == ASR_USAGE);
    check(asr_options_set_binding(options, NULL) == ASR_USAGE);
    asr_verifier_free(verifier);
    asr_options_free(options);
    asr_options_free(NULL);
    asr_verifier_free(NULL);
    asr_free(NULL);
    check(asr_decode_unverified(NULL, 0, NULL, NULL, NULL) == ASR_REFUSED);
}

/* A bad setting: the values of one option, with their number, or a number alone. */
typedef struct {
    const char *name, *option, *texts[4], *code;
    int count;
    int64_t number;
    asr_status status;
} bad_setting;

static const bad_setting bad_settings[] = {
#include "settings.inc"
};
enum { bad_setting_count = sizeof bad_settings / sizeof bad_settings[0] };

static asr_status set(asr_options *options, const bad_setting *row, const char *value) {
    if (!strcmp(row->option, "maximum_age")) return asr_options_set_maximum_age(options, row->number);
    /* NULL without bytes is an empty text. */
    return asr_options_set(options, row->option, value, value ? strlen(value) : 1);
}

/* The table of bad settings, with statuses ignored, and those that only C can pass. None makes a verifier. */
static void settings_fail_closed(void) {
    asr_verifier *verifier;
    asr_error error;
    for (int i = 0; i < bad_setting_count; i++) {
        const bad_setting *row = &bad_settings[i];
        asr_options *options = asr_options_new();
        for (int j = 0; j < row->count; j++) set(options, row, row->texts[j]);
        if (row->count == 0) asr_options_set_nothing(options, row->option);
        asr_status status = asr_verifier_new(options, &verifier, NULL, NULL, &error);
        if (verifier || status != row->status || strcmp(error.code, row->code)) {
            fprintf(stderr, "%s: status %d, code %s\n", row->name, (int)status, error.code);
            exit(1);
        }
        check(asr_verifier_shared(options, &verifier, NULL, NULL, NULL) == row->status && !verifier);
        asr_options_free(options);
    }
#define closed(setting) \
    do { \
        asr_options *options = asr_options_new(); \
        check((setting) == ASR_USAGE); \
        check(asr_verifier_new(options, &verifier, NULL, NULL, &error) == ASR_USAGE && !verifier && !strcmp(error.code, "usage")); \
        asr_options_free(options); \
    } while (0)
    closed(asr_options_add_bundle_id(options, "\xff"));
    closed(asr_options_set(options, "bundle_id", "a\0b", 3));
    closed(asr_options_set(options, "bundle-id", "a", 1));
    closed(asr_options_set(options, NULL, "a", 1));
    closed(asr_options_set(options, "storekit_testing", "1", 1));
    closed(asr_options_set(options, "validation_date", "1738324800000", 13));
    closed(asr_options_set_nothing(options, "validation_date"));
    closed(asr_options_set_nothing(options, NULL));
    closed(asr_options_set_maximum_age(options, INT64_MIN));
    closed(asr_options_set_clock(options, ASR_DATE_SIGNING));
    closed(asr_options_add_roots(options, NULL, 1));
    closed(asr_options_add_roots(options, "0", SIZE_MAX));
}

/* A verifier accepts production only, unless the options say otherwise. */
static void production_is_the_default(void) {
    const struct { const char *environment, *evidence; asr_status status; } rows[] = {
        {NULL, "receipt", ASR_VERIFIED}, {NULL, "receipt of the sandbox", ASR_REFUSED},
        {"sandbox", "receipt", ASR_REFUSED}, {"sandbox", "receipt of the sandbox", ASR_VERIFIED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const test_case *c = case_named(rows[i].evidence);
        asr_options *options = asr_options_new();
        asr_verifier *verifier;
        check(asr_options_add_roots(options, c->roots[0].bytes, c->roots[0].length) == ASR_VERIFIED);
        if (rows[i].environment) check(asr_options_add_environment(options, rows[i].environment) == ASR_VERIFIED);
        check(asr_verifier_new(options, &verifier, NULL, NULL, NULL) == ASR_VERIFIED);
        check(asr_verify(verifier, c->evidence[0].bytes, c->evidence[0].length, ASR_JSON_NONE, NULL, NULL, NULL) == rows[i].status);
        asr_verifier_free(verifier);
        asr_options_free(options);
    }
}

static void a_limit_on_pieces(void) {
    static const size_t lengths[1001];
    asr_verifier *verifier = verifier_of(case_named("receipt"));
    char *json;
    size_t length;
    asr_error error;
    check(asr_entitlements(verifier, NULL, lengths, 1000, 0, 0, &json, &length, &error) == ASR_REFUSED && json && length > 1000);
    check(!strcmp(error.code, "empty-input"));
    asr_free(json);
    check(asr_entitlements(verifier, NULL, lengths, 1001, 0, 0, &json, &length, &error) == ASR_REFUSED && !json && !length);
    check(!strcmp(error.code, "too-much-evidence") && !strcmp(error.category, "client"));
    asr_verifier_free(verifier);
}

/* Evidence that is too large is refused, and no byte behind the first one too many is read. */
static void too_large_evidence_is_refused(void) {
    size_t limit = 2 * ((size_t)64 << 20) + (1 << 16), page = (size_t)sysconf(_SC_PAGESIZE), mapped = (limit / page + 1) * page;
    char *memory = mmap(NULL, mapped + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(memory != MAP_FAILED && !mprotect(memory + mapped, page, PROT_NONE));
    char *evidence = memory + mapped - (limit + 1);
    const struct { const char *beginning, *offset; } rows[] = {{"", "\"offset\":134283264,"}, {"{", "\"offset\":134283264,"}, {"0\x82", "\"offset\":67108864,"}};
    const size_t lengths[] = {limit + 1, SIZE_MAX / 4}, pieces[] = {0, SIZE_MAX / 4};
    asr_verifier *verifier = verifier_of(case_named("receipt"));
    char *json;
    size_t length;
    asr_error error;
#define too_large(call, offset) \
    do { \
        check((call) == ASR_REFUSED && !strcmp(error.code, "input-too-large") && !strcmp(error.category, "client") && strstr(json, offset)); \
        asr_free(json); \
    } while (0)
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        strcpy(evidence, rows[i].beginning);
        for (size_t j = 0; j < sizeof lengths / sizeof lengths[0]; j++) {
            too_large(asr_verify(verifier, evidence, lengths[j], 0, &json, &length, &error), rows[i].offset);
            too_large(asr_answer(verifier, evidence, lengths[j], 0, &json, &length, &error), "{\"status\":21002}");
        }
        too_large(asr_decode_unverified(evidence, SIZE_MAX / 4, &json, &length, &error), rows[i].offset);
    }
    check(asr_entitlements(verifier, evidence, pieces, 2, 0, 0, &json, &length, &error) == ASR_REFUSED && !strcmp(error.code, "empty-input"));
    check(strstr(json, "{\"index\":1,\"error\":{\"code\":\"input-too-large\",") && strstr(json, "\"offset\":67108864,"));
    asr_free(json);
    asr_verifier_free(verifier);
    munmap(memory, mapped + page);
}

static void roots_in_pem(void) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const test_case *receipt = case_named("receipt");
    const file *root = &receipt->roots[0];
    char pem[8192], *end = pem + sprintf(pem, "A root:\r\n-----BEGIN CERTIFICATE-----\r\n");
    for (size_t i = 0; i < root->length; i += 3) {
        size_t left = root->length - i;
        unsigned bits = root->bytes[i] << 16 | (left > 1 ? root->bytes[i + 1] << 8 : 0) | (left > 2 ? root->bytes[i + 2] : 0);
        *end++ = digits[bits >> 18];
        *end++ = digits[bits >> 12 & 63];
        *end++ = left > 1 ? digits[bits >> 6 & 63] : '=';
        *end++ = left > 2 ? digits[bits & 63] : '=';
        if (i % 48 == 45) end += sprintf(end, "\r\n");
    }
    end += sprintf(end, "\r\n-----END CERTIFICATE-----\r\n");
    test_case other = *receipt;
    other.roots[0] = (file){(const unsigned char *)pem, (size_t)(end - pem)};
    check(run(&other));
}

static void shared_and_counts(void) {
    const test_case *receipt = case_named("receipt"), *refused = case_named("refused: chain");
    asr_options *options = options_of(receipt), *same = options_of(receipt), *other = options_of(case_named("receipt of any app"));
    asr_verifier *a, *b, *c;
    check(asr_verifier_shared(options, &a, NULL, NULL, NULL) == ASR_VERIFIED);
    check(asr_verifier_shared(same, &b, NULL, NULL, NULL) == ASR_VERIFIED);
    check(asr_verifier_shared(other, &c, NULL, NULL, NULL) == ASR_VERIFIED);
    check(a == b && a != c);
    asr_verifier_free(a);
    check(call(receipt, a, NULL, NULL, NULL) == ASR_VERIFIED);
    check(call(refused, a, NULL, NULL, NULL) == ASR_REFUSED);
    check(call(case_named("answer"), a, NULL, NULL, NULL) == ASR_VERIFIED);
    char *json;
    check(asr_counts(a, &json, NULL) == ASR_VERIFIED);
    check(strstr(json, "{\"verified\":2,\"refused\":{\"untrusted-chain\":1},\"chain_cache\":{\"hits\":") == json);
    asr_free(json);
    asr_options_free(options);
    asr_options_free(same);
    asr_options_free(other);
}

int main(void) {
    int failures = 0;
    for (int i = 0; i < case_count; i++) failures += !run(&cases[i]);
    check(!failures);
    callers_errors();
    settings_fail_closed();
    production_is_the_default();
    a_limit_on_pieces();
    too_large_evidence_is_refused();
    roots_in_pem();
    shared_and_counts();
    check(!strcmp(asr_version(), ASR_VERSION) && asr_abi_version() == ASR_ABI_VERSION);
    printf("%d cases, %d bad settings\n", case_count, bad_setting_count);
}
