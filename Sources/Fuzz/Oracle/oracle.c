#include "oracle.h"

#include <openssl/cms.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <stdlib.h>
#include <string.h>

struct oracle_message {
    CMS_ContentInfo *cms;
    STACK_OF(X509) *certificates;
    size_t consumed;
};

struct oracle_store {
    X509_STORE *store;
};

oracle_message *oracle_read(const uint8_t *bytes, size_t count) {
    const uint8_t *position = bytes;
    CMS_ContentInfo *cms = d2i_CMS_ContentInfo(NULL, &position, (long)count);
    if (cms == NULL || OBJ_obj2nid(CMS_get0_type(cms)) != NID_pkcs7_signed) {
        CMS_ContentInfo_free(cms);
        return NULL;
    }
    oracle_message *message = calloc(1, sizeof *message);
    message->cms = cms;
    message->consumed = (size_t)(position - bytes);
    message->certificates = CMS_get1_certs(cms);
    return message;
}

void oracle_free(oracle_message *message) {
    if (message == NULL) return;
    sk_X509_pop_free(message->certificates, X509_free);
    CMS_ContentInfo_free(message->cms);
    free(message);
}

size_t oracle_consumed(const oracle_message *message) { return message->consumed; }

const uint8_t *oracle_content(const oracle_message *message, size_t *count) {
    ASN1_OCTET_STRING **content = CMS_get0_content(message->cms);
    if (content == NULL || *content == NULL) return NULL;
    *count = (size_t)ASN1_STRING_length(*content);
    return ASN1_STRING_get0_data(*content);
}

int oracle_certificate_count(const oracle_message *message) {
    return message->certificates == NULL ? 0 : sk_X509_num(message->certificates);
}

int oracle_signer_count(const oracle_message *message) {
    STACK_OF(CMS_SignerInfo) *signers = CMS_get0_SignerInfos(message->cms);
    return signers == NULL ? 0 : sk_CMS_SignerInfo_num(signers);
}

int oracle_certificate_is(const oracle_message *message, int index, const uint8_t *bytes, size_t count) {
    uint8_t *encoded = NULL;
    int length = i2d_X509(sk_X509_value(message->certificates, index), &encoded);
    int is_same = length >= 0 && (size_t)length == count && memcmp(encoded, bytes, count) == 0;
    OPENSSL_free(encoded);
    return is_same;
}

int oracle_signature_is(const oracle_message *message, int index, const uint8_t *bytes, size_t count) {
    STACK_OF(CMS_SignerInfo) *signers = CMS_get0_SignerInfos(message->cms);
    ASN1_OCTET_STRING *signature = CMS_SignerInfo_get0_signature(sk_CMS_SignerInfo_value(signers, index));
    return (size_t)ASN1_STRING_length(signature) == count
        && (count == 0 || memcmp(ASN1_STRING_get0_data(signature), bytes, count) == 0);
}

oracle_store *oracle_store_new(const uint8_t *root, size_t count) {
    X509 *certificate = d2i_X509(NULL, &root, (long)count);
    X509_STORE *store = X509_STORE_new();
    if (certificate == NULL || store == NULL || !X509_STORE_add_cert(store, certificate)) abort();
    X509_free(certificate);
    X509_STORE_set_purpose(store, X509_PURPOSE_ANY);
    X509_VERIFY_PARAM_set_auth_level(X509_STORE_get0_param(store), 0);
    oracle_store *result = calloc(1, sizeof *result);
    result->store = store;
    return result;
}

int oracle_verify(oracle_message *message, oracle_store *store, int64_t seconds, const uint8_t *content, size_t count) {
    X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(store->store), (time_t)seconds);
    BIO *output = BIO_new(BIO_s_mem());
    int is_valid = CMS_verify(message->cms, NULL, store->store, NULL, output, CMS_BINARY) == 1;
    char *verified = NULL;
    long length = BIO_get_mem_data(output, &verified);
    if (is_valid) is_valid = (size_t)length == count && (count == 0 || memcmp(verified, content, count) == 0);
    BIO_free(output);
    return is_valid;
}

void oracle_reason(char *text, size_t capacity) {
    size_t count = 0;
    text[0] = 0;
    unsigned long error;
    const char *data;
    int flags;
    // The queue begins with the innermost: what went wrong, then the fields around it.
    while ((error = ERR_get_error_all(NULL, NULL, NULL, &data, &flags)) != 0) {
        const char *reason = ERR_reason_error_string(error);
        int is_nested = ERR_GET_REASON(error) == ERR_R_NESTED_ASN1_ERROR;
        if (count < capacity)
            count += (size_t)snprintf(
                text + count, capacity - count, "%s%s%s", count == 0 ? "" : " < ",
                is_nested && data[0] != 0 ? "" : reason == NULL ? "?" : reason, data[0] != 0 ? " " : "");
        if (count < capacity) count += (size_t)snprintf(text + count, capacity - count, "%s", data);
    }
}
