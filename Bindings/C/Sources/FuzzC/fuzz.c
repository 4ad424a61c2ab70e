/*
 * Calls the header's functions as the input says: any settings, any evidence, any order that the header allows. A
 * record is a byte for the call, two bytes for the length, and the bytes to pass. Checks that the outputs are always
 * what the header says.
 */
#include <appstorereceipt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            printf("violated: %s (line %d)\n", #condition, __LINE__); \
            fflush(NULL); \
            abort(); \
        } \
    } while (0)

static const char *const names[] = {
    "bundle_id", "environments", "app_apple_id", "roots", "transaction_receipt_issuers", "storekit_testing", "distrusted", "maximum_age",
    "validation_date", "allows_rsa_1024", "strict_form", "clock", "product_types", "no_such_option", "", NULL,
};

/* A key that everyone has: that of Bindings/cases/signing. */
static const char key[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgM9v9KcXlnhZzStMa\n"
    "xYtR0vBJGvU2PYFn91PY4aUW1VChRANCAARTtMutzmhB7BZ9shjI1voMRpHvNGX4\n"
    "9OgZuy7Ziglmj7FCcrpJzuh0SFebVi+DqzQh055WEJYq24MJUJRqsicD\n"
    "-----END PRIVATE KEY-----\n";
static const char settings[] = "{\"key_id\":\"1\",\"issuer_id\":\"2\",\"bundle_id\":\"3\"}";

/* What every function returns besides its status. */
struct outputs {
    char *json;
    size_t length;
    asr_error error;
};

static int is_word(const char *text, size_t size) {
    size_t length = strnlen(text, size);
    for (size_t i = 0; i < length; i++)
        if (!((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= '0' && text[i] <= '9') || text[i] == '-' || text[i] == '_')) return 0;
    return length < size;
}

static void check(asr_status status, struct outputs *outputs, int may_have_json) {
    CHECK(status >= ASR_VERIFIED && status <= ASR_DECODED);
    CHECK(is_word(outputs->error.code, sizeof outputs->error.code));
    CHECK(is_word(outputs->error.category, sizeof outputs->error.category));
    if (status == ASR_VERIFIED || status == ASR_DECODED) CHECK(outputs->error.code[0] == 0 && outputs->error.category[0] == 0);
    if (status == ASR_REFUSED || status == ASR_CONFIGURATION) CHECK(outputs->error.code[0] != 0 || outputs->json);
    if (outputs->json == NULL) {
        CHECK(outputs->length == 0);
    } else {
        CHECK(may_have_json && strlen(outputs->json) == outputs->length);
        CHECK(outputs->json[0] == '{' && outputs->json[outputs->length - 1] == '}');
        CHECK(strchr(outputs->json, '\n') == NULL);
    }
    asr_free(outputs->json);
    memset(outputs, 0xA5, sizeof *outputs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asr_options *options = asr_options_new();
    asr_verifier *verifier = NULL;
    static asr_signer *signer = NULL;
    struct outputs outputs;
    memset(&outputs, 0xA5, sizeof outputs);
    while (size >= 3) {
        uint8_t call = data[0];
        size_t length = data[1] | (size_t)data[2] << 8;
        data += 3;
        size -= 3;
        if (length > size) length = size;
        /* A copy with room for a NUL: reads beyond are errors. */
        uint8_t *bytes = malloc(length + 1);
        if (bytes == NULL) abort();
        memcpy(bytes, data, length);
        uint32_t flags = call >> 4;
        switch (call & 15) {
        case 0: {
            size_t name = length ? bytes[0] % (sizeof names / sizeof names[0]) : 0;
            asr_status status = asr_options_set(options, names[name], bytes + (length > 0), length ? length - 1 : 0);
            CHECK(status == ASR_VERIFIED || status == ASR_USAGE);
            break;
        }
        case 1:
            bytes[length] = 0;
            asr_options_set(options, (const char *)bytes, "true", 4);
            asr_options_set_nothing(options, (const char *)bytes);
            break;
        case 2:
            bytes[length] = 0;
            asr_options_set_binding(options, (const char *)bytes);
            break;
        case 3:
            asr_options_free(options);
            options = asr_options_new();
            break;
        case 4: {
            asr_verifier *made = NULL;
            asr_status status = asr_verifier_new(options, &made, &outputs.json, &outputs.length, &outputs.error);
            CHECK((status == ASR_VERIFIED) == (made != NULL));
            check(status, &outputs, 1);
            asr_verifier_free(verifier);
            verifier = made;
            break;
        }
        case 5: {
            /* They are never freed. */
            static int count = 0;
            if (++count > 200) break;
            asr_verifier *shared = NULL;
            asr_status status = asr_verifier_shared(options, &shared, &outputs.json, &outputs.length, &outputs.error);
            CHECK((status == ASR_VERIFIED) == (shared != NULL));
            check(status, &outputs, 1);
            asr_verifier_free(shared);
            break;
        }
        case 6:
            asr_verify(verifier, bytes, length, flags, NULL, NULL, NULL);
            break;
        case 7: {
            size_t lengths[3] = {length / 2, 0, length - length / 2};
            int64_t date = flags == 0 ? ASR_DATE_NOW : flags == 1 ? ASR_DATE_SIGNING : (int64_t)((uint64_t)flags << 59);
            asr_status status = asr_entitlements(verifier, bytes, lengths, flags % 4, date, flags % 6, &outputs.json, &outputs.length, &outputs.error);
            check(status, &outputs, 1);
            break;
        }
        case 8:
            check(asr_answer(verifier, bytes, length, flags * 4, &outputs.json, &outputs.length, &outputs.error), &outputs, 1);
            break;
        case 9:
            check(asr_decode_unverified(bytes, length, &outputs.json, &outputs.length, &outputs.error), &outputs, 1);
            break;
        case 10:
            outputs.error.code[0] = outputs.error.category[0] = 0;
            check(asr_counts(verifier, &outputs.json, &outputs.length), &outputs, 1);
            break;
        case 11: {
            /* Any settings with a key, or any key with settings. */
            asr_signer *made = NULL;
            asr_status status = flags % 2
                ? asr_signer_new(bytes, length, key, sizeof key - 1, &made, &outputs.json, &outputs.length, &outputs.error)
                : asr_signer_new(settings, sizeof settings - 1, bytes, length, &made, &outputs.json, &outputs.length, &outputs.error);
            CHECK((status == ASR_VERIFIED) == (made != NULL));
            check(status, &outputs, 1);
            asr_signer_free(made);
            break;
        }
        case 12:
            if (signer == NULL) asr_signer_new(settings, sizeof settings - 1, key, sizeof key - 1, &signer, NULL, NULL, NULL);
            check(asr_sign(signer, bytes, length, &outputs.json, &outputs.length, &outputs.error), &outputs, 1);
            break;
        case 13:
            check(
                (flags % 2 ? asr_extract_transaction_id_from_app_receipt : asr_extract_transaction_id_from_transaction_receipt)(
                    verifier, bytes, length, &outputs.json, &outputs.length, &outputs.error), &outputs, 1);
            break;
        default:
            check(asr_verify(verifier, bytes, length, flags, &outputs.json, &outputs.length, &outputs.error), &outputs, flags != ASR_JSON_NONE);
        }
        free(bytes);
        data += length;
        size -= length;
    }
    asr_verifier_free(verifier);
    asr_options_free(options);
    return 0;
}

#ifndef FUZZ
/* Runs the inputs in the files that are named. */
int main(int count, char **paths) {
    for (int i = 1; i < count; i++) {
        FILE *file = fopen(paths[i], "rb");
        uint8_t *input = malloc(1 << 20);
        if (file == NULL || input == NULL) return 2;
        LLVMFuzzerTestOneInput(input, fread(input, 1, 1 << 20, file));
        fclose(file);
        free(input);
    }
    printf("%d inputs, no finding\n", count - 1);
    return 0;
}
#endif
