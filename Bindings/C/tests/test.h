/* What the tests share: the table of cases, and checks that say where they failed. */
#include <appstorereceipt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define check(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

typedef struct { const unsigned char *bytes; size_t length; } file;

typedef struct {
    const char *name, *call, *bundle_ids[4], *environments[4], *app_apple_id, *distrusted[4], *product_types[4], *code, *category, *json;
    uint32_t flags, environment;
    int32_t storekit_testing, allows_rsa_1024, strict_form;
    int64_t maximum_age, validation_date, clock, date;
    file roots[4], issuers[4], evidence[8];
    size_t count;
    asr_status status;
} test_case;

static const test_case cases[] = {
#include "cases.inc"
};
enum { case_count = sizeof cases / sizeof cases[0] };

static inline asr_options *options_of(const test_case *c) {
    asr_options *options = asr_options_new();
    check(options);
    for (int i = 0; c->bundle_ids[i]; i++) check(asr_options_add_bundle_id(options, c->bundle_ids[i]) == ASR_VERIFIED);
    for (int i = 0; c->environments[i]; i++) check(asr_options_add_environment(options, c->environments[i]) == ASR_VERIFIED);
    for (int i = 0; c->distrusted[i]; i++) check(asr_options_add_distrusted(options, c->distrusted[i]) == ASR_VERIFIED);
    for (int i = 0; c->product_types[i]; i++)
        check(asr_options_set(options, "product_types", c->product_types[i], strlen(c->product_types[i])) == ASR_VERIFIED);
    /* Without this, production would be accepted. */
    if (!c->environments[0]) check(asr_options_set_nothing(options, "environments") == ASR_VERIFIED);
    for (int i = 0; c->roots[i].bytes; i++)
        check(asr_options_add_roots(options, c->roots[i].bytes, c->roots[i].length) == ASR_VERIFIED);
    for (int i = 0; c->issuers[i].bytes; i++)
        check(asr_options_add_transaction_receipt_issuers(options, c->issuers[i].bytes, c->issuers[i].length) == ASR_VERIFIED);
    if (c->app_apple_id) check(asr_options_set_app_apple_id(options, c->app_apple_id) == ASR_VERIFIED);
    check(asr_options_set_storekit_testing(options, c->storekit_testing) == ASR_VERIFIED);
    if (c->maximum_age >= 0) check(asr_options_set_maximum_age(options, c->maximum_age) == ASR_VERIFIED);
    check(asr_options_set_validation_date(options, c->validation_date) == ASR_VERIFIED);
    check(asr_options_set_allows_rsa_1024(options, c->allows_rsa_1024) == ASR_VERIFIED);
    check(asr_options_set_strict_form(options, c->strict_form) == ASR_VERIFIED);
    check(asr_options_set_clock(options, c->clock) == ASR_VERIFIED);
    return options;
}

static inline const test_case *case_named(const char *name) {
    for (int i = 0; i < case_count; i++)
        if (!strcmp(cases[i].name, name)) return &cases[i];
    fprintf(stderr, "no case '%s'\n", name);
    exit(1);
}

static inline asr_verifier *verifier_of(const test_case *c) {
    asr_options *options = options_of(c);
    asr_verifier *verifier;
    check(asr_verifier_new(options, &verifier, NULL, NULL, NULL) == ASR_VERIFIED);
    asr_options_free(options);
    return verifier;
}
