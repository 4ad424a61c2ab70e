#pragma once
#include <curl/curl.h>

// `curl_easy_setopt` and `curl_easy_getinfo` are variadic, which Swift does not import.

static inline CURLcode ledger_curl_set_number(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ledger_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

/// Sends a copy of a body.
static inline CURLcode ledger_curl_set_body(CURL *handle, const void *bytes, long count) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, count);
    return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_COPYPOSTFIELDS, bytes);
}

static inline CURLcode ledger_curl_set_headers(CURL *handle, struct curl_slist *headers) {
    return curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
}

static size_t ledger_curl_ignore(char *bytes, size_t size, size_t count, void *total) {
    size_t *received = total;
    *received += size * count;
    // Whatever a webhook answers, its status is enough: a long answer is an error.
    return *received > 65536 ? 0 : size * count;
}

/// Ignores the answer's body, and counts its bytes.
static inline CURLcode ledger_curl_ignore_answer(CURL *handle, size_t *received) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, ledger_curl_ignore);
    return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_WRITEDATA, received);
}

static inline long ledger_curl_status(CURL *handle) {
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    return status;
}
