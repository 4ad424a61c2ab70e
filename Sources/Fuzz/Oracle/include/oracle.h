#pragma once

#include <stddef.h>
#include <stdint.h>

// libcrypto's own reading of a CMS message and its own verdict on it, for FuzzDifferential to compare ours with.

typedef struct oracle_message oracle_message;
typedef struct oracle_store oracle_store;

/// What d2i_CMS_ContentInfo makes of the bytes; NULL when it refuses them or they are no signed data. It may leave
/// bytes over.
oracle_message *oracle_read(const uint8_t *bytes, size_t count);
void oracle_free(oracle_message *message);

size_t oracle_consumed(const oracle_message *message);
/// NULL for detached content.
const uint8_t *oracle_content(const oracle_message *message, size_t *count);
int oracle_certificate_count(const oracle_message *message);
int oracle_signer_count(const oracle_message *message);
/// Whether a certificate, encoded again, is these bytes.
int oracle_certificate_is(const oracle_message *message, int index, const uint8_t *bytes, size_t count);
/// Whether the content octets of a signer's signature are these bytes.
int oracle_signature_is(const oracle_message *message, int index, const uint8_t *bytes, size_t count);

/// A store with one root, purpose any, security level 0.
oracle_store *oracle_store_new(const uint8_t *root, size_t count);
/// CMS_verify at a date; the content that it verified is compared with the given bytes.
int oracle_verify(oracle_message *message, oracle_store *store, int64_t seconds, const uint8_t *content, size_t count);
/// Why libcrypto last refused something, as text; forgets all errors.
void oracle_reason(char *text, size_t capacity);
