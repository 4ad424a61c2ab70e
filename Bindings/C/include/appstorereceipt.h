/*
 * appstorereceipt.h - verifies what Apple signs for the App Store, offline
 *
 * SYNOPSIS
 *
 *     #include <appstorereceipt.h>              cc … $(pkg-config --cflags --libs appstorereceipt)
 *
 *     asr_options *options = asr_options_new();
 *     asr_options_add_bundle_id(options, "com.example.app");
 *     asr_verifier *verifier;
 *     asr_error error;
 *     if (asr_verifier_new(options, &verifier, NULL, NULL, &error) != ASR_VERIFIED)
 *         errx(2, "%s", error.code);
 *     asr_options_free(options);
 *
 *     char *json;
 *     if (asr_verify(verifier, body, length, ASR_JSON_FULL, &json, NULL, &error) != ASR_VERIFIED)
 *         warnx("%s (%s)", error.code, error.category);
 *     puts(json);
 *     asr_free(json);
 *     asr_verifier_free(verifier);
 *
 * DESCRIPTION
 *
 * Evidence is a receipt (binary, base64 or PEM), a JWS of StoreKit 2 or of App Store Server Notifications in its compact form, a
 * transaction receipt of iOS 3 to 6 (a property list or its base64), or a JSON object with one of them as its member receipt-data,
 * signedPayload, signedTransactionInfo, signedRenewalInfo or signedAppTransactionInfo. The evidence comes from a client, and can be
 * anything: no bytes crash or hang a function, and all take linear time.
 *
 * Pointers and ownership
 *     Inputs are read during the call only; nothing keeps a pointer to them. A pointer to bytes may be NULL if its length is 0. What a function
 *     returns through char ** belongs to the caller, who frees it with asr_free(). What asr_options_new() and asr_verifier_new() return belongs
 *     to the caller, who frees it with the function of its type. The pointers of asr_version() are valid until the process ends.
 *
 * Encoding
 *     Strings that are passed end in NUL and are UTF-8. JSON is one object in UTF-8, without line breaks, and ends in a NUL that its length does
 *     not count. It contains no other NUL. Dates in JSON are RFC 3339 in UTC. Dates that are passed are milliseconds since
 *     1970-01-01T00:00:00Z.
 *
 * Outputs
 *     All outputs may be NULL. If a function has the outputs json, json_length and error, it always sets those that are not NULL: json is
 *     NULL and json_length is 0 if there is no JSON; the fields of error are empty if there is no error.
 *
 * Threads
 *     All threads may use one verifier at the same time. Two threads must not use one asr_options at the same time, unless both only
 *     make verifiers with it. A verifier must not be freed while a thread uses it. A thread needs a stack of 64 KiB.
 *
 * fork()
 *     A process may fork at any time, also while other threads verify; the child may use its parent's verifiers. fork() waits until no thread
 *     is inside a function of the library, but not longer than two seconds. A child's counters continue from its parent's.
 *
 * dlclose(), exit()
 *     The library stays loaded after dlclose(). The process may exit while other threads verify.
 *
 * Errors of the caller
 *     ASR_USAGE is returned for a NULL where a value is required, and for an option that cannot be read: also by asr_verifier_new() for
 *     options of which one could not be read, so that ignoring the status of a setting accepts nothing. A pointer that is neither NULL nor
 *     valid is undefined behaviour, as everywhere in C.
 *
 * ABI
 *     Functions and values are added, and never changed or removed, as long as asr_abi_version() is the same. Unknown members can be added
 *     to the JSON at any time.
 */
#ifndef APPSTORERECEIPT_H
#define APPSTORERECEIPT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library, and the ABI that this header describes. See asr_version() and asr_abi_version(). */
#define ASR_VERSION "0.2.0"
#define ASR_ABI_VERSION 1

/*
 * asr_status - the result of a function
 *
 * ASR_VERIFIED       Success. The evidence is genuine and the options accept it.
 * ASR_REFUSED        The evidence is not genuine, or the options do not accept it. Do not grant anything.
 * ASR_HOST           This host or this library is at fault, not the evidence: keep the evidence, raise an alarm, and verify it again after a
 *                    correction. Do not grant anything. It is the status for the category "host", such as for genuine evidence whose
 *                    contents this version cannot read.
 * ASR_CONFIGURATION  The options can accept nothing, or a certificate in them cannot be used.
 * ASR_USAGE          The call is wrong: see "Errors of the caller". The code is "usage", and there is no JSON.
 * ASR_DECODED        Only of asr_decode_unverified(): the evidence was decoded and NOT verified.
 */
typedef int32_t asr_status;
enum {
    ASR_VERIFIED = 0,
    ASR_REFUSED = 1,
    ASR_HOST = 2,
    ASR_CONFIGURATION = 3,
    ASR_USAGE = 4,
    ASR_DECODED = 5
};

/*
 * asr_error - the reason of a status other than ASR_VERIFIED, without reading JSON
 *
 * code      a stable word such as "bundle-id-mismatch", or "" if there is no error. The article "Errors" of the library lists all of them.
 * category  who can correct the error: "client" (answer 400), "forgery" (403) or "host" (500); "" if there is no error.
 *
 * Both end in NUL. The caller allocates the struct, which never changes its size.
 */
typedef struct asr_error {
    char code[48];
    char category[16];
} asr_error;

/*
 * Flags of asr_verify() and asr_answer(): one of the first three, and any of the others.
 *
 * ASR_JSON_FULL    the verdict with all contents:
 *                      {"verified":true,"trust":{…},"receipt":{…}}
 *                      {"verified":false,"error":{"code":…,"stage":…,"category":…,"message":…,"advice":…,…}}
 *                  A JWS is the member "transaction", "renewal_info", "app_transaction", "notification" or "realtime_request"; the signed
 *                  parts of a notification follow it. A transaction receipt is the member "transaction_receipt". The contents are always the member that
 *                  follows "trust".
 * ASR_JSON_BRIEF   the verdict without contents: {"verified":true,"kind":"receipt","trust":{…}}, where "kind" is the name of the member that
 *                  the full verdict has. A refusal is the same as in full.
 * ASR_JSON_NONE    no JSON.
 * ASR_ANSWER_LATEST_RECEIPT_INFO
 *                  only for asr_answer(): fill latest_receipt_info from in_app.
 */
enum {
    ASR_JSON_FULL = 0,
    ASR_JSON_BRIEF = 1,
    ASR_JSON_NONE = 2,
    ASR_ANSWER_LATEST_RECEIPT_INFO = 16
};

/* Dates with a special meaning: the date at which the evidence was signed, and the present. */
#define ASR_DATE_SIGNING INT64_MIN
#define ASR_DATE_NOW INT64_MAX

/* ------------------------------------------------------------------------------------------------------------------------------------
 * Options: what to accept, and which certificates to trust
 * ------------------------------------------------------------------------------------------------------------------------------------ */

typedef struct asr_options asr_options;

/*
 * asr_options_new - makes options for every app in production, which trust Apple's roots
 *
 * RETURN VALUE  The options; free them with asr_options_free(). A verifier keeps nothing of them: they can be freed when it is made.
 */
asr_options *asr_options_new(void);

/* asr_options_free - frees options; does nothing if options is NULL */
void asr_options_free(asr_options *options);

/*
 * asr_options_set - sets an option by its name, or adds a value to it
 *
 * name          the name of the option: see below
 * value         length bytes. Numbers, dates and words are texts in UTF-8, without a NUL. A date is RFC 3339, "now", or milliseconds since
 *               1970 such as "1738324800000ms"; true and false are these words.
 *
 * RETURN VALUE  ASR_VERIFIED, or ASR_USAGE if the value is NULL or cannot be read, or the name is unknown. Then no verifier can be made with the
 *               options: asr_verifier_new() and asr_verifier_shared() return ASR_USAGE.
 *
 * asr_options_set_nothing - says that an option is present and has no value, such as an empty list
 *     It comes from a setting that was left empty, and never means every app or any age. It cannot be read; for bundle_id and environments,
 *     asr_verifier_new() returns ASR_CONFIGURATION, as for an empty bundle id.
 *
 * The options of type "texts" and "certificates" can be repeated, and then have several values:
 *
 * BEGIN GENERATED by generate-bindings
 *
 * bundle_id  (texts)
 *     Accepts this app only. Without it, the bundle id is not checked: compare it in the contents before you grant anything.
 *
 * environments  (texts)
 *     Accepts this environment. It is `production`, `sandbox`, `xcode` or `local-testing`. Without it, production is accepted, or what
 *     Xcode signed with StoreKit Testing.
 *
 * app_apple_id  (text)
 *     Accepts a JWS of the app with this Apple id only. Notifications and real-time requests have it. Without it, the Apple id is not
 *     checked.
 *
 * roots  (certificates)
 *     Trusts self-signed root certificates, in DER or PEM, instead of Apple's.
 *
 * transaction_receipt_issuers  (certificates)
 *     Trusts intermediate certificates, in DER or PEM, for transaction receipts of iOS 3 to 6, which do not contain theirs.
 *
 * storekit_testing  (flag)
 *     Accepts only what StoreKit Testing in Xcode signed. The roots are its certificates.
 *
 * distrusted  (texts)
 *     Refuses what a signer's or intermediate certificate signed. It is the SHA-256 of the certificate in hexadecimal.
 *
 * maximum_age  (seconds)
 *     Refuses evidence that was signed longer ago than this, or is from the future. Without it, any age is accepted.
 *
 * validation_date  (date)
 *     Validates the certificates at this date. Without it, they are validated at the date the evidence was signed.
 *
 * allows_rsa_1024  (flag)
 *     Accepts transaction receipts of version 2 (until 2015), which are signed with an RSA key of 1024 bits. Such keys are no longer
 *     safe.
 *
 * clock  (fixed_date)
 *     Stops the verifier's clock at this date, for tests.
 *
 * product_types  (texts)
 *     Takes the type of a product from here if the evidence does not say it. It is `ID=consumable`, `ID=non-consumable`,
 *     `ID=auto-renewable`, or `ID=non-renewing:90` for 90 days.
 * END GENERATED
 */
asr_status asr_options_set(asr_options *options, const char *name, const void *value, size_t length);
asr_status asr_options_set_nothing(asr_options *options, const char *name);

/*
 * asr_options_set_binding - names the options in advice as the binding of a language names them
 *     language is "python", "php", "java", "node" or "go". Without it, advice has the names of asr_options_set().
 *
 * The others are asr_options_set() with types of C, for some of the options. ASR_DATE_SIGNING is the word "creation". A flag is set if it is not 0. A number of
 * seconds must not be negative.
 */
asr_status asr_options_add_bundle_id(asr_options *options, const char *bundle_id);
asr_status asr_options_add_environment(asr_options *options, const char *environment);
asr_status asr_options_set_app_apple_id(asr_options *options, const char *app_apple_id);
asr_status asr_options_add_roots(asr_options *options, const void *certificates, size_t length);
asr_status asr_options_add_transaction_receipt_issuers(asr_options *options, const void *certificates, size_t length);
asr_status asr_options_set_storekit_testing(asr_options *options, int32_t enabled);
asr_status asr_options_add_distrusted(asr_options *options, const char *fingerprint);
asr_status asr_options_set_maximum_age(asr_options *options, int64_t seconds);
asr_status asr_options_set_validation_date(asr_options *options, int64_t date);
asr_status asr_options_set_allows_rsa_1024(asr_options *options, int32_t allowed);
asr_status asr_options_set_clock(asr_options *options, int64_t date);
asr_status asr_options_set_binding(asr_options *options, const char *language);

/* ------------------------------------------------------------------------------------------------------------------------------------
 * Verifiers
 * ------------------------------------------------------------------------------------------------------------------------------------ */

typedef struct asr_verifier asr_verifier;

/*
 * asr_verifier_new - makes a verifier
 *
 * It takes some milliseconds. Make one when the program starts, and use it in all threads.
 *
 * verifier      receives the verifier, or NULL. Free it with asr_verifier_free(). It must not be NULL.
 * json          receives {"verified":false,"error":{…}} if no verifier can be made, and otherwise NULL.
 *
 * RETURN VALUE  ASR_VERIFIED; ASR_CONFIGURATION, such as with the code "no-environment" or "unusable-trust-anchor"; ASR_HOST if libcrypto on
 *               this host cannot verify what the options accept; or ASR_USAGE, also if an option could not be read.
 */
asr_status asr_verifier_new(
    const asr_options *options, asr_verifier **verifier, char **json, size_t *json_length, asr_error *error);

/*
 * asr_verifier_shared - returns the verifier of this process for these options, and makes it if there is none
 *
 * For programs that forget their objects between requests, such as PHP. Equal options give the same verifier. It is never freed: each
 * different set of options costs memory until the process ends, so do not make options from requests. asr_verifier_free() does nothing with it.
 *
 * The outputs and the return value are those of asr_verifier_new().
 */
asr_status asr_verifier_shared(
    const asr_options *options, asr_verifier **verifier, char **json, size_t *json_length, asr_error *error);

/* asr_verifier_free - frees a verifier; does nothing if it is NULL or shared */
void asr_verifier_free(asr_verifier *verifier);

/*
 * asr_verify - verifies evidence of any kind
 *
 * RETURN VALUE  ASR_VERIFIED, ASR_REFUSED, ASR_HOST, ASR_USAGE, or, for evidence that cannot be checked with these options,
 *               ASR_CONFIGURATION ("no-app-apple-id"). With all but ASR_VERIFIED and ASR_USAGE, the JSON is a refusal.
 */
asr_status asr_verify(
    const asr_verifier *verifier, const void *evidence, size_t length, uint32_t flags,
    char **json, size_t *json_length, asr_error *error);

/*
 * asr_entitlements - verifies the evidence of one customer, and decides what it gives access to at a date
 *
 * evidence      all pieces of evidence, one directly after the other
 * lengths       the length of each piece
 * count         the number of pieces, at most 1000
 * date          the date to decide for; usually ASR_DATE_NOW. It must not be ASR_DATE_SIGNING.
 * json          receives {"schema":1,"at":…,"items":[…],"refused":[…]}. Each transaction is one item:
 *                   {"transaction_id":…,"original_transaction_id":…,"product_id":…,"access":…,
 *                    "gives_access":…,"grantable":…,"until":…,"quantity":…,…}
 *               "access" is "active", "owned", "consumable", "not-yet", "expired", "revoked", "upgraded", "length-unknown" or "undetermined".
 *               "gives_access" is true if the product may be used at the date. "grantable" is true if the transaction can be granted, once:
 *               it gives access, or is a consumable with a quantity of at least 1. Each piece that is refused is {"index":…,"error":{…}}, where the index counts from 0.
 *               The refused pieces give access to nothing; the others count.
 *
 * RETURN VALUE  ASR_VERIFIED if all pieces were verified. ASR_HOST with "algorithm-unavailable", "out-of-memory" or "libcrypto-failure" if this
 *               host could not verify one: verify all again. Otherwise ASR_REFUSED, also for signed contents that cannot be read or that the options
 *               cannot check. The error is that of the first such piece.
 *               With more than 1000 pieces, ASR_REFUSED with the code "too-much-evidence", category "client", and no JSON.
 */
asr_status asr_entitlements(
    const asr_verifier *verifier, const void *evidence, const size_t *lengths, size_t count, int64_t date,
    char **json, size_t *json_length, asr_error *error);

/*
 * asr_answer - answers a request as Apple's verifyReceipt does, from the receipt alone
 *
 * body          the body of the request, as received: {"receipt-data":"…"}
 * flags         0, or ASR_ANSWER_LATEST_RECEIPT_INFO. ASR_JSON_BRIEF is the same as ASR_JSON_FULL.
 * json          receives the answer, also to a malformed request. Send it with HTTP status 200, as Apple does.
 *
 * The environments of the verifier are answered with status 0; a receipt of the other environment is answered with 21007 or 21008.
 *
 * RETURN VALUE  ASR_VERIFIED if the answer has the receipt (status 0 or 21006); otherwise as asr_verify().
 */
asr_status asr_answer(
    const asr_verifier *verifier, const void *body, size_t length, uint32_t flags,
    char **json, size_t *json_length, asr_error *error);

/*
 * asr_counts - returns the numbers of inputs that a verifier has verified and refused in this process, for metrics
 *
 * json          receives {"verified":…,"refused":{CODE:…},"chain_cache":{"hits":…,"misses":…,"evictions":…}}
 *
 * RETURN VALUE  ASR_VERIFIED or ASR_USAGE
 */
asr_status asr_counts(const asr_verifier *verifier, char **json, size_t *json_length);

/* ------------------------------------------------------------------------------------------------------------------------------------
 * Without verification
 * ------------------------------------------------------------------------------------------------------------------------------------ */

/*
 * asr_decode_unverified - decodes evidence WITHOUT VERIFYING IT: anyone can have written its contents
 *
 * For support and debugging. Never grant anything by it.
 *
 * json          receives {"verified":false,"receipt":{…}}, for a JWS with its "header", or {"verified":false,"error":{…}}
 *
 * RETURN VALUE  ASR_DECODED, which is not ASR_VERIFIED; ASR_REFUSED if the evidence cannot be decoded; or ASR_USAGE.
 */
asr_status asr_decode_unverified(
    const void *evidence, size_t length, char **json, size_t *json_length, asr_error *error);

/* ------------------------------------------------------------------------------------------------------------------------------------
 * Memory and versions
 * ------------------------------------------------------------------------------------------------------------------------------------ */

/* asr_free - frees JSON that a function returned; does nothing if pointer is NULL */
void asr_free(void *pointer);

/* asr_version - returns the version of the library, such as ASR_VERSION */
const char *asr_version(void);

/* asr_abi_version - returns the version of the ABI; compare it with ASR_ABI_VERSION if the library is loaded at run time */
int32_t asr_abi_version(void);

#ifdef __cplusplus
}
#endif

#endif
