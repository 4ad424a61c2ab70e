// The calls of appstorereceipt.h for Node, synchronous and on its thread pool. index.js checks the arguments and gives
// them types.
#define NAPI_VERSION 8
#include <appstorereceipt.h>
#include <node_api.h>
#include <stdlib.h>
#include <string.h>
#include "calls.h"

// A call on the thread pool, with copies of its arguments: JavaScript may change its buffers meanwhile.
struct job {
    struct call call;
    napi_async_work work;
    napi_deferred deferred;
    napi_ref verifier;
    size_t copy[];
};

static napi_value failure(napi_env env, const char *message) {
    napi_throw_type_error(env, NULL, message);
    return NULL;
}

static napi_value string(napi_env env, const char *text, size_t length) {
    napi_value value = NULL;
    if (text == NULL || napi_create_string_utf8(env, text, length, &value) != napi_ok) napi_get_null(env, &value);
    return value;
}

// Returns {status, code, category, json}, and frees the JSON.
static napi_value outcome(napi_env env, const struct call *call) {
    napi_value value, status;
    napi_create_object(env, &value);
    napi_create_int32(env, call->status, &status);
    napi_set_named_property(env, value, "status", status);
    napi_set_named_property(env, value, "code", string(env, call->error.code, NAPI_AUTO_LENGTH));
    napi_set_named_property(env, value, "category", string(env, call->error.category, NAPI_AUTO_LENGTH));
    napi_set_named_property(env, value, "json", string(env, call->json, call->json_length));
    asr_free(call->json);
    return value;
}

static void execute(napi_env env, void *data) {
    (void)env;
    perform(&((struct job *)data)->call);
}

static void complete(napi_env env, napi_status status, void *data) {
    struct job *job = data;
    if (status == napi_ok) napi_resolve_deferred(env, job->deferred, outcome(env, &job->call));
    if (job->verifier != NULL) napi_delete_reference(env, job->verifier);
    napi_delete_async_work(env, job->work);
    free(job);
}

// Node 18 aborts the process if napi_get_buffer_info gets something else than an array of bytes.
static bool bytes_of(napi_env env, napi_value value, const void **bytes, size_t *length) {
    bool is_buffer;
    return napi_is_buffer(env, value, &is_buffer) == napi_ok && is_buffer
        && napi_get_buffer_info(env, value, (void **)bytes, length) == napi_ok;
}

// Whether the pieces are in the evidence. The library cannot know how much memory it was given.
static bool lengths_fit(const struct call *call) {
    size_t left = call->length;
    for (size_t i = 0; i < call->count; i++) {
        size_t length;
        memcpy(&length, call->lengths + i, sizeof length);
        if (length > left) return false;
        left -= length;
    }
    return true;
}

// call(operation, verifier, evidence, lengths, flags, date, isAsynchronous). The lengths are a BigUint64Array, the date
// is a BigInt.
static napi_value call(napi_env env, napi_callback_info info) {
    size_t argc = 7, size;
    napi_value argv[7], promise;
    struct call local = {0};
    bool is_lossless, is_asynchronous;
    napi_valuetype type;
    void *owner = NULL;
    napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    if (napi_get_value_uint32(env, argv[0], &local.operation) != napi_ok || napi_typeof(env, argv[1], &type) != napi_ok
        || (type == napi_external && napi_get_value_external(env, argv[1], &owner) != napi_ok)
        || !bytes_of(env, argv[2], &local.evidence, &local.length)
        || !bytes_of(env, argv[3], (const void **)&local.lengths, &size)
        || napi_get_value_uint32(env, argv[4], &local.flags) != napi_ok
        || napi_get_value_bigint_int64(env, argv[5], &local.date, &is_lossless) != napi_ok
        || napi_get_value_bool(env, argv[6], &is_asynchronous) != napi_ok)
        return failure(env, "an argument has the wrong type");
    // The operation says which of the two it is.
    local.verifier = owner;
    local.signer = owner;
    // A larger number would lose its upper bits: 2^64 would be 1970.
    if (!is_lossless) return failure(env, "a date must be a Date or milliseconds since 1970");
    local.count = size / sizeof(size_t);
    if (size % sizeof(size_t) != 0 || !lengths_fit(&local)) return failure(env, "the lengths are not those of the evidence");
    if (!is_asynchronous) {
        perform(&local);
        return outcome(env, &local);
    }
    struct job *job = calloc(1, sizeof *job + size + local.length);
    if (job == NULL) return failure(env, "out of memory");
    char *evidence = (char *)job->copy + size;
    if (size > 0) memcpy(job->copy, local.lengths, size);
    if (local.length > 0) memcpy(evidence, local.evidence, local.length);
    job->call = local;
    job->call.lengths = job->copy;
    job->call.evidence = evidence;
    if (type == napi_external) napi_create_reference(env, argv[1], 1, &job->verifier);
    napi_create_promise(env, &job->deferred, &promise);
    napi_create_async_work(env, NULL, string(env, "appstorereceipt", NAPI_AUTO_LENGTH), execute, complete, job, &job->work);
    napi_queue_async_work(env, job->work);
    return promise;
}

// Sets an option to the bytes of a buffer; if the value is null, it is present and empty.
static bool set(napi_env env, asr_options *options, napi_value name, napi_value value) {
    char text[64];
    const void *bytes;
    size_t length;
    napi_valuetype type;
    if (napi_get_value_string_utf8(env, name, text, sizeof text, NULL) != napi_ok) return false;
    if (napi_typeof(env, value, &type) == napi_ok && type == napi_null) return asr_options_set_nothing(options, text) == ASR_VERIFIED;
    return bytes_of(env, value, &bytes, &length) && asr_options_set(options, text, bytes, length) == ASR_VERIFIED;
}

static void finalize(napi_env env, void *data, void *hint) {
    (void)env;
    (void)hint;
    asr_verifier_free(data);
}

// create([[name, value, …], …]) returns {status, code, category, json, verifier}, or the first of the lists that cannot
// be read.
static napi_value create(napi_env env, napi_callback_info info) {
    size_t argc = 1;
    uint32_t count;
    napi_value entries, entry = NULL, name, value;
    napi_get_cb_info(env, info, &argc, &entries, NULL, NULL);
    if (napi_get_array_length(env, entries, &count) != napi_ok) return failure(env, "the options are no array");
    asr_options *options = asr_options_new();
    asr_options_set_binding(options, "node");
    for (uint32_t i = 0; i < count; i++) {
        if (napi_get_element(env, entries, i, &entry) == napi_ok && napi_get_element(env, entry, 0, &name) == napi_ok
            && napi_get_element(env, entry, 1, &value) == napi_ok && set(env, options, name, value))
            continue;
        asr_options_free(options);
        return entry;
    }
    asr_verifier *verifier;
    struct call made = {0};
    made.status = asr_verifier_new(options, &verifier, &made.json, &made.json_length, &made.error);
    asr_options_free(options);
    napi_value result = outcome(env, &made), external;
    if (verifier != NULL && napi_create_external(env, verifier, finalize, NULL, &external) == napi_ok)
        napi_set_named_property(env, result, "verifier", external);
    return result;
}

static void finalize_signer(napi_env env, void *data, void *hint) {
    (void)env;
    (void)hint;
    asr_signer_free(data);
}

// createSigner(settings, key) returns {status, code, category, json, verifier}, where the verifier is the signer. The
// key is null if the settings name it.
static napi_value create_signer(napi_env env, napi_callback_info info) {
    size_t argc = 2, length, key_length = 0;
    napi_value argv[2];
    const void *settings, *key = NULL;
    napi_valuetype type;
    napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    if (!bytes_of(env, argv[0], &settings, &length) || napi_typeof(env, argv[1], &type) != napi_ok
        || (type != napi_null && !bytes_of(env, argv[1], &key, &key_length)))
        return failure(env, "an argument has the wrong type");
    // An empty key is one, too.
    if (type != napi_null && key == NULL) key = "";
    asr_signer *signer;
    struct call made = {0};
    made.status = asr_signer_new(settings, length, key, key_length, &signer, &made.json, &made.json_length, &made.error);
    napi_value result = outcome(env, &made), external;
    if (signer != NULL && napi_create_external(env, signer, finalize_signer, NULL, &external) == napi_ok)
        napi_set_named_property(env, result, "verifier", external);
    return result;
}

NAPI_MODULE_INIT() {
    const napi_property_descriptor properties[] = {
        {"call", NULL, call, NULL, NULL, NULL, napi_enumerable, NULL},
        {"create", NULL, create, NULL, NULL, NULL, napi_enumerable, NULL},
        {"createSigner", NULL, create_signer, NULL, NULL, NULL, napi_enumerable, NULL},
        {"version", NULL, NULL, NULL, NULL, string(env, asr_version(), NAPI_AUTO_LENGTH), napi_enumerable, NULL}};
    napi_define_properties(env, exports, 4, properties);
    return exports;
}
