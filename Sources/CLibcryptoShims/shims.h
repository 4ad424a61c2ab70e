#pragma once

// The libcrypto headers that `LibcryptoHandles` uses, and functions for macros, which Swift cannot import.

#include <errno.h>
#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <pthread.h>

static inline int receipt_is_allocation_failure(unsigned long error) {
    return ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE;
}

// The `errno` of the calling thread.
static inline int receipt_errno(void) { return errno; }
static inline void receipt_set_errno(int value) { errno = value; }

// Opens a file for reading, without waiting for the writer of a pipe. Swift's own `open` and `errno` come with math
// functions that need glibc 2.35.
static inline int receipt_open(const char *path) { return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); }

// Initializes libcrypto, or returns 0 if there is no memory for its first locks. OpenSSL 3.5 would report that as an
// error, for which it initializes itself again: a deadlock in `pthread_once`. `CRYPTO_malloc` without a file and a line
// reports nothing, and this thread's next `malloc` returns what is freed here.
static inline int receipt_initialize(void) {
    void *memory[4];
    int found = 1;
    for (int i = 0; i < 4; i++) found &= (memory[i] = CRYPTO_malloc(sizeof(pthread_rwlock_t), NULL, 0)) != NULL;
    for (int i = 0; i < 4; i++) CRYPTO_free(memory[i], NULL, 0);
    if (found) OPENSSL_init_crypto(0, NULL);
    return found;
}

// The bytes written to a memory BIO, which owns them.
static inline long receipt_bio_contents(BIO *bio, char **start) { return BIO_get_mem_data(bio, start); }

// Creates a P-256 key from its private number, 32 bytes in native order, and its public point, 65 bytes.
static inline EVP_PKEY *receipt_p256_key(unsigned char *number, unsigned char *point) {
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)SN_X9_62_prime256v1, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, 65),
        OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_PRIV_KEY, number, 32), OSSL_PARAM_construct_end()};
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    EVP_PKEY *key = NULL;
    if (context != NULL && EVP_PKEY_fromdata_init(context) == 1)
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_KEYPAIR, parameters);
    EVP_PKEY_CTX_free(context);
    return key;
}

// Adds an object identifier, by its contents octets, to the initial policy set.
static inline int receipt_add_policy(X509_VERIFY_PARAM *parameters, const unsigned char *content, int count) {
    ASN1_OBJECT *policy = ASN1_OBJECT_create(NID_undef, (unsigned char *)content, count, NULL, NULL);
    if (policy == NULL) return 0;
    if (X509_VERIFY_PARAM_add0_policy(parameters, policy) == 1) return 1;
    ASN1_OBJECT_free(policy);
    return 0;
}

// Stacks that do not own their elements.

static inline STACK_OF(X509) *receipt_certificates_new(void) { return sk_X509_new_null(); }
static inline int receipt_certificates_push(STACK_OF(X509) *stack, X509 *certificate) {
    return sk_X509_push(stack, certificate) > 0;
}
static inline int receipt_certificates_count(const STACK_OF(X509) *stack) { return sk_X509_num(stack); }
static inline X509 *receipt_certificates_at(const STACK_OF(X509) *stack, int index) {
    return sk_X509_value(stack, index);
}
static inline void receipt_certificates_free(STACK_OF(X509) *stack) { sk_X509_free(stack); }

static inline STACK_OF(X509_CRL) *receipt_crls_new(void) { return sk_X509_CRL_new_null(); }
static inline int receipt_crls_push(STACK_OF(X509_CRL) *stack, X509_CRL *crl) {
    return sk_X509_CRL_push(stack, crl) > 0;
}
static inline void receipt_crls_free(STACK_OF(X509_CRL) *stack) { sk_X509_CRL_free(stack); }

// What `X509_CRL_get_ext_d2i` returns for NID_issuing_distribution_point.
static inline void receipt_issuing_distribution_point_free(void *point) {
    ISSUING_DIST_POINT_free((ISSUING_DIST_POINT *)point);
}
