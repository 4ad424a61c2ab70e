#include "baselines.h"

#include <openssl/cms.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

struct baseline_key {
    EVP_PKEY *key;
    EVP_MD *digest;
};

baseline_key *baseline_key_new(const uint8_t *certificate, size_t count) {
    X509 *x509 = d2i_X509(NULL, &certificate, (long)count);
    baseline_key *result = OPENSSL_zalloc(sizeof *result);
    if (x509 == NULL || result == NULL) return NULL;
    result->key = X509_get_pubkey(x509);
    result->digest = EVP_MD_fetch(NULL, "SHA256", NULL);
    X509_free(x509);
    return result->key != NULL && result->digest != NULL ? result : NULL;
}

int baseline_floor(
    const baseline_key *key, const uint8_t *payload, size_t payload_count, const uint8_t *signature,
    size_t signature_count) {
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned int digest_count = 0;
    if (EVP_Digest(payload, payload_count, digest, &digest_count, key->digest, NULL) != 1) return 0;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, key->key, NULL);
    int is_valid = context != NULL && EVP_PKEY_verify_init(context) == 1
        && EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1
        && EVP_PKEY_CTX_set_signature_md(context, key->digest) == 1
        && EVP_PKEY_verify(context, signature, signature_count, digest, digest_count) == 1;
    EVP_PKEY_CTX_free(context);
    return is_valid;
}

int baseline_ecdsa_floor(
    const baseline_key *key, const uint8_t *signed_bytes, size_t signed_count, const uint8_t *signature,
    size_t signature_count) {
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned int digest_count = 0;
    if (EVP_Digest(signed_bytes, signed_count, digest, &digest_count, key->digest, NULL) != 1) return 0;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, key->key, NULL);
    int is_valid = context != NULL && EVP_PKEY_verify_init(context) == 1
        && EVP_PKEY_CTX_set_signature_md(context, key->digest) == 1
        && EVP_PKEY_verify(context, signature, signature_count, digest, digest_count) == 1;
    EVP_PKEY_CTX_free(context);
    return is_valid;
}

struct baseline_store {
    X509_STORE *store;
};

baseline_store *baseline_store_new(const uint8_t *root, size_t count) {
    X509 *x509 = d2i_X509(NULL, &root, (long)count);
    baseline_store *result = OPENSSL_zalloc(sizeof *result);
    if (x509 == NULL || result == NULL) return NULL;
    result->store = X509_STORE_new();
    if (result->store == NULL || X509_STORE_add_cert(result->store, x509) != 1) return NULL;
    X509_VERIFY_PARAM_set_purpose(X509_STORE_get0_param(result->store), X509_PURPOSE_ANY);
    X509_free(x509);
    return result;
}

int baseline_cms_verify(const baseline_store *store, const uint8_t *message, size_t count) {
    CMS_ContentInfo *cms = d2i_CMS_ContentInfo(NULL, &message, (long)count);
    int is_valid = cms != NULL && CMS_verify(cms, NULL, store->store, NULL, NULL, CMS_BINARY) == 1;
    CMS_ContentInfo_free(cms);
    return is_valid;
}

// The number of elements in a region; 0 when it is not elements throughout.
static size_t walk(const uint8_t *position, const uint8_t *end, int depth) {
    size_t elements = 0;
    if (depth > 32) return 0;
    while (position < end) {
        long length = 0;
        int tag = 0, class = 0;
        int form = ASN1_get_object(&position, &length, &tag, &class, end - position);
        if (form & 0x80) return 0;
        elements += 1;
        if (form & V_ASN1_CONSTRUCTED || (tag == V_ASN1_OCTET_STRING && class == V_ASN1_UNIVERSAL))
            elements += walk(position, position + length, depth + 1);
        position += length;
    }
    return elements;
}

size_t baseline_tlv_walk(const uint8_t *message, size_t count) {
    size_t elements = walk(message, message + count, 0);
    // Octets that are no elements, such as hashes and the signature, leave errors behind.
    ERR_clear_error();
    return elements;
}

const char *baseline_libcrypto_version(void) { return OpenSSL_version(OPENSSL_VERSION); }
