#include <appstorereceipt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The options that have a function of their own: asr_options_set() with types of C. */

static asr_status set(asr_options *options, const char *name, const char *text) {
    /* NULL cannot be read, unless it has no bytes. */
    return asr_options_set(options, name, text, text == NULL ? 1 : strlen(text));
}

static asr_status set_number(asr_options *options, const char *name, int64_t number, const char *unit) {
    char text[32];
    snprintf(text, sizeof text, "%" PRId64 "%s", number, unit);
    return set(options, name, text);
}

static asr_status set_date(asr_options *options, const char *name, int64_t date) {
    if (date == ASR_DATE_SIGNING) return set(options, name, "creation");
    if (date == ASR_DATE_NOW) return set(options, name, "now");
    return set_number(options, name, date, "ms");
}

#define SETTING(function, type, call) \
    asr_status asr_options_##function(asr_options *options, type value) { return call; }
#define FILES(function, name) \
    asr_status asr_options_##function(asr_options *options, const void *files, size_t length) { \
        return asr_options_set(options, name, files, length); \
    }

SETTING(add_bundle_id, const char *, set(options, "bundle_id", value))
SETTING(add_environment, const char *, set(options, "environments", value))
SETTING(set_app_apple_id, const char *, set(options, "app_apple_id", value))
FILES(add_roots, "roots")
FILES(add_transaction_receipt_issuers, "transaction_receipt_issuers")
SETTING(set_storekit_testing, int32_t, set(options, "storekit_testing", value ? "true" : "false"))
SETTING(add_distrusted, const char *, set(options, "distrusted", value))
SETTING(set_maximum_age, int64_t, set_number(options, "maximum_age", value, ""))
SETTING(set_validation_date, int64_t, set_date(options, "validation_date", value))
SETTING(set_allows_rsa_1024, int32_t, set(options, "allows_rsa_1024", value ? "true" : "false"))
SETTING(set_clock, int64_t, set_date(options, "clock", value))
