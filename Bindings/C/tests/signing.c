/* The shared cases of signatures, which libcrypto verifies, and the errors of callers. */
#include <appstorereceipt.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define check(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

/* A request, and what it must give: claims of a JWS, the parts before the nonce, or a refusal. */
typedef struct {
    const char *name, *request, *claims[8], *message, *code, *category, *error;
    asr_status status;
} signing_case;

/* A key or settings, and what making a signer must give. */
typedef struct {
    const char *settings, *key, *code, *error;
    asr_status status;
} signer_case;

#include "signing.inc"

static EVP_PKEY *public_key;

static int verifies(const unsigned char *signature, size_t length, const char *message, size_t message_length) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int result = EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, public_key) == 1
        && EVP_DigestVerify(context, signature, length, (const unsigned char *)message, message_length) == 1;
    EVP_MD_CTX_free(context);
    return result;
}

/* Decodes base64 in either alphabet, with or without padding. */
static size_t decode(const char *text, size_t length, unsigned char *bytes) {
    char padded[4096];
    check(length < sizeof padded - 4);
    size_t count = 0;
    for (; count < length && text[count] != '='; count++)
        padded[count] = text[count] == '-' ? '+' : text[count] == '_' ? '/' : text[count];
    size_t characters = count;
    while (count % 4) padded[count++] = '=';
    check(EVP_DecodeBlock(bytes, (unsigned char *)padded, (int)count) >= 0);
    return characters * 3 / 4;
}

/* The text of a member of flat JSON, without escapes. */
static const char *member(const char *json, const char *name, size_t *length) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *start = strstr(json, key);
    check(start != NULL);
    start += strlen(key);
    if (*start == '"') start++;
    *length = strcspn(start, "\",}");
    return start;
}

static void check_jws(const signing_case *c, const char *json) {
    size_t length;
    const char *jws = member(json, "jws", &length);
    const char *first = memchr(jws, '.', length), *second = memchr(first + 1, '.', length - (size_t)(first + 1 - jws));
    unsigned char header[256] = {0}, payload[4096] = {0}, rs[128], der[80], *end = der + 2;
    decode(jws, (size_t)(first - jws), header);
    check(!strcmp((char *)header, "{\"alg\":\"ES256\",\"kid\":\"2X9R4HXF34\",\"typ\":\"JWT\"}"));
    decode(first + 1, (size_t)(second - first - 1), payload);
    for (int i = 0; c->claims[i]; i++) check(strstr((char *)payload, c->claims[i]));
    check(decode(second + 1, length - (size_t)(second + 1 - jws), rs) == 64);
    for (int i = 0; i < 2; i++) {
        const unsigned char *number = rs + 32 * i;
        int count = 32;
        for (; count > 1 && !*number; number++) count--;
        *end++ = 2;
        *end++ = (unsigned char)(count + (*number >> 7));
        if (*number >> 7) *end++ = 0;
        memcpy(end, number, (size_t)count);
        end += count;
    }
    der[0] = 0x30;
    der[1] = (unsigned char)(end - der - 2);
    check(verifies(der, (size_t)(end - der), jws, (size_t)(second - jws)));
}

static void check_original(const signing_case *c, const char *json) {
    char message[4096];
    size_t nonce, timestamp, length;
    const char *nonce_text = member(json, "nonce", &nonce), *timestamp_text = member(json, "timestamp", &timestamp);
    const char *signature = member(json, "signature", &length);
    int count = snprintf(message, sizeof message, "%s\xe2\x81\xa3%.*s\xe2\x81\xa3%.*s", c->message, (int)nonce, nonce_text, (int)timestamp, timestamp_text);
    unsigned char der[128];
    size_t der_length = decode(signature, length, der);
    check(nonce == 36 && verifies(der, der_length, message, (size_t)count));
}

int main(int argc, char **argv) {
    check(argc == 3);
    FILE *file = fopen(argv[1], "r");
    check(file && (public_key = PEM_read_PUBKEY(file, NULL, NULL, NULL)));
    fclose(file);
    asr_signer *signer, *none = (asr_signer *)1;
    asr_error error;
    char *json;
    size_t length;
    for (size_t i = 0; i < sizeof signer_cases / sizeof *signer_cases; i++) {
        const signer_case *c = &signer_cases[i];
        asr_status status = asr_signer_new(c->settings, strlen(c->settings), c->key, strlen(c->key), &signer, &json, &length, &error);
        if (status != c->status || strcmp(error.code, c->code) || (c->error && !strstr(json, c->error))) {
            fprintf(stderr, "%s: %d %s %s\n", c->settings, (int)status, error.code, json ? json : "NULL");
            return 1;
        }
        check((signer != NULL) == (status == ASR_VERIFIED) && (json == NULL) == (status == ASR_VERIFIED));
        asr_free(json);
        asr_signer_free(signer);
    }
    check(asr_signer_new(settings, strlen(settings), key, strlen(key), &signer, NULL, NULL, NULL) == ASR_VERIFIED);
    for (size_t i = 0; i < sizeof signing_cases / sizeof *signing_cases; i++) {
        const signing_case *c = &signing_cases[i];
        asr_status status = asr_sign(signer, c->request, strlen(c->request), &json, &length, &error);
        if (status != c->status || strcmp(error.code, c->code) || strcmp(error.category, c->category)) {
            fprintf(stderr, "%s: %d %s %s\n", c->name, (int)status, error.code, json ? json : "NULL");
            return 1;
        }
        check(length == strlen(json));
        if (c->error) check(strstr(json, c->error));
        else if (c->message) check_original(c, json);
        else check_jws(c, json);
        asr_free(json);
    }
#define usage(expression) check((expression) == ASR_USAGE && !json && !length && !strcmp(error.code, "usage") && !strcmp(error.category, "host"))
    static const char *const wrong[] = {"", "{}", "[]", "{\"sign\":1}", "{\"sign\":\"other\"}", "{\"sign\":\"promotional_offer\",\"other\":1}",
        "{\"sign\":\"promotional_offer\",\"request\":\"\"}", "{\"sign\":\"promotional_offer\",\"sign\":\"promotional_offer\"}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) usage(asr_sign(signer, wrong[i], strlen(wrong[i]), &json, &length, &error));
    usage(asr_sign(NULL, "{}", 2, &json, &length, &error));
    usage(asr_sign(signer, NULL, 1, &json, &length, &error));
    usage(asr_sign(signer, "{}", SIZE_MAX, &json, &length, &error));
    usage(asr_signer_new(NULL, 1, key, 1, &none, &json, &length, &error));
    check(!none);
    usage(asr_signer_new(settings, strlen(settings), NULL, 0, &none, &json, &length, &error));
    usage(asr_signer_new(settings, strlen(settings), key, SIZE_MAX, &none, &json, &length, &error));
    usage(asr_signer_new(settings, strlen(settings), key, strlen(key), NULL, &json, &length, &error));
    usage(asr_signer_new("{\"other\":\"\"}", 12, key, strlen(key), &none, &json, &length, &error));

    /* A member that is missing has no default. */
    static const char missing[] = "{\"sign\":\"promotional_offer\",\"product_id\":\"a\",\"offer_id\":\"b\"}";
    check(asr_sign(signer, missing, strlen(missing), &json, &length, &error) == ASR_REFUSED && strstr(json, "\"argument\":\"transaction_id\""));
    asr_free(json);

    char from_file[512];
    snprintf(from_file, sizeof from_file, "{\"key_id\":\"a\",\"issuer_id\":\"b\",\"bundle_id\":\"c\",\"key_file\":\"%s\"}", argv[2]);
    check(asr_signer_new(from_file, strlen(from_file), NULL, 0, &none, NULL, NULL, NULL) == ASR_VERIFIED);
    asr_signer_free(none);
    check(!chmod(argv[2], 0640));
    check(asr_signer_new(from_file, strlen(from_file), NULL, 0, &none, NULL, NULL, &error) == ASR_CONFIGURATION);
    check(!none && !strcmp(error.code, "key-accessible-to-others") && !strcmp(error.category, "host"));
    usage(asr_signer_new(from_file, strlen(from_file), key, strlen(key), &none, &json, &length, &error));
    asr_signer_free(NULL);
    asr_signer_free(signer);
    EVP_PKEY_free(public_key);
    printf("C: %zu cases of signatures, %zu keys and settings\n", sizeof signing_cases / sizeof *signing_cases, sizeof signer_cases / sizeof *signer_cases);
    return 0;
}
