#pragma once
#include <stdbool.h>
#include <curl/curl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

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

/// Whether the headers of an answer have ended: libcurl takes a connection that ends within them for their end.
struct ledger_curl_headers {
    int are_complete;
};

static void ledger_curl_look_at_header(struct ledger_curl_headers *headers, const char *bytes, size_t count) {
    // Each line in turn. Those of an interim answer (100) come before, trailers after the body.
    if (count >= 5 && memcmp(bytes, "HTTP/", 5) == 0) headers->are_complete = 0;
    if ((count == 2 && bytes[0] == '\r' && bytes[1] == '\n') || (count == 1 && bytes[0] == '\n')) headers->are_complete = 1;
}

static size_t ledger_curl_see_header(char *bytes, size_t size, size_t count, void *headers) {
    ledger_curl_look_at_header(headers, bytes, size * count);
    return size * count;
}

static inline CURLcode ledger_curl_watch_headers(CURL *handle, struct ledger_curl_headers *headers) {
    headers->are_complete = 0;
    CURLcode code = curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, ledger_curl_see_header);
    return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_HEADERDATA, headers);
}

/// Whether the connection of the last request cannot be used again: something is there that nobody asked for, or it has
/// ended.
static inline bool ledger_curl_has_unread(CURL *handle) {
    curl_socket_t connection = CURL_SOCKET_BAD;
    if (curl_easy_getinfo(handle, CURLINFO_ACTIVESOCKET, &connection) != CURLE_OK || connection == CURL_SOCKET_BAD)
        return false;
    struct pollfd look = {.fd = connection, .events = POLLIN};
    return poll(&look, 1, 0) != 0;
}

/// An answer that is collected up to a limit.
struct ledger_curl_answer {
    unsigned char *bytes;
    size_t count;
    size_t capacity;
    /// The maximum size of the body, and of the headers.
    size_t limit;
    size_t header_limit;
    size_t header_count;
    int is_too_large;
    struct ledger_curl_headers headers;
};

static size_t ledger_curl_collect(char *bytes, size_t size, size_t count, void *context) {
    struct ledger_curl_answer *answer = context;
    size_t added = size * count;
    if (added > answer->limit - answer->count) {
        answer->is_too_large = 1;
        return CURL_WRITEFUNC_ERROR;
    }
    if (answer->count + added > answer->capacity) {
        size_t capacity = 2 * (answer->count + added);
        unsigned char *larger = realloc(answer->bytes, capacity);
        if (!larger) return CURL_WRITEFUNC_ERROR;
        answer->bytes = larger;
        answer->capacity = capacity;
    }
    memcpy(answer->bytes + answer->count, bytes, added);
    answer->count += added;
    return added;
}

static size_t ledger_curl_count_header(char *bytes, size_t size, size_t count, void *context) {
    struct ledger_curl_answer *answer = context;
    ledger_curl_look_at_header(&answer->headers, bytes, size * count);
    answer->header_count += size * count;
    if (answer->header_count <= answer->header_limit) return size * count;
    answer->is_too_large = 1;
    return CURL_WRITEFUNC_ERROR;
}

/// Collects the answer's body. Free its bytes.
static inline CURLcode ledger_curl_collect_answer(CURL *handle, struct ledger_curl_answer *answer) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, ledger_curl_collect);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_WRITEDATA, answer);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, ledger_curl_count_header);
    return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_HEADERDATA, answer);
}

/// Whether anything of the last request was sent.
static inline bool ledger_curl_was_sent(CURL *handle) {
    long size = 0;
    curl_easy_getinfo(handle, CURLINFO_REQUEST_SIZE, &size);
    return size > 0;
}

static inline long ledger_curl_status(CURL *handle) {
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    return status;
}
