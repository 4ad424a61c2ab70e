#pragma once

#include <stddef.h>
#include <stdint.h>

// The baseline: what libcrypto's own users would write in C.

// The minimum work: the digest of the payload (SHA-256, fetched once) and one RSA verification (PKCS#1 v1.5) with a key
// that was loaded before and its own context.
typedef struct baseline_key baseline_key;
baseline_key *baseline_key_new(const uint8_t *certificate, size_t count);
int baseline_floor(
    const baseline_key *key, const uint8_t *payload, size_t payload_count, const uint8_t *signature,
    size_t signature_count);

// The same for signed data: the digest of header and payload, and one ECDSA verification (the signature in DER).
int baseline_ecdsa_floor(
    const baseline_key *key, const uint8_t *signed_bytes, size_t signed_count, const uint8_t *signature,
    size_t signature_count);

// d2i_CMS_ContentInfo and CMS_verify under one trusted root, which is loaded once.
typedef struct baseline_store baseline_store;
baseline_store *baseline_store_new(const uint8_t *root, size_t count);
int baseline_cms_verify(const baseline_store *store, const uint8_t *message, size_t count);

// Walks all elements by ASN1_get_object, those inside OCTET STRINGs too, and counts them.
size_t baseline_tlv_walk(const uint8_t *message, size_t count);

const char *baseline_libcrypto_version(void);
