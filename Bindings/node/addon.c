// The calls of appstorereceipt.h for Node, synchronous and on its thread pool. index.js checks the arguments and gives them types.
#define NAPI_VERSION 8
#include <appstorereceipt.h>
#include <node_api.h>
#include <stdlib.h>
#include <string.h>

enum operation { VERIFY, ENTITLEMENTS, ANSWER, DECODE };

// A call, with copies of its arguments if it runs on the thread pool: JavaScript may change its buffers meanwhile.
struct call {
    uint32_t operation, flags;
    const asr_verifier *verifier;
    void *evidence, *lengths, *copy;
    size_t length, count;
    int64_t date;
    asr_status status;
    char *json;
    size_t json_length;
    asr_error error;
    napi_async_work work;
    napi_deferred deferred;
    napi_ref owner;
};

static void perform(struct call *call) {
    const asr_verifier *verifier = call->verifier;
    char **json = &call->json;
    size_t *json_length = &call->json_length;
    asr_error *error = &call->error;
    switch (call->operation) {
    case VERIFY:
        call->status = asr_verify(verifier, call->evidence, call->length, call->flags, json, json_length, error);
        break;
    case ENTITLEMENTS:
        call->status =
            asr_entitlements(verifier, call->evidence, call->lengths, call->count, call->date, json, json_length, error);
        break;
    case ANSWER:
        call->status = asr_answer(verifier, call->evidence, call->length, call->flags, json, json_length, error);
        break;
    default:
        call->status = asr_decode_unverified(call->evidence, call->length, json, json_length, error);
    }
}

static napi_value string(napi_env env, const char *text, size_t length) {
    napi_value value = NULL;
    if (text == NULL || napi_create_string_utf8(env, text, length, &value) != napi_ok) napi_get_null(env, &value);
    return value;
}

// Returns {status, code, category, json}, and frees the JSON.
static napi_value outcome(napi_env env, asr_status status, const asr_error *error, char *json, size_t json_length) {
    napi_value value, number;
    napi_create_object(env, &value);
    napi_create_int32(env, status, &number);
    napi_set_named_property(env, value, "status", number);
    napi_set_named_property(env, value, "code", string(env, error->code, NAPI_AUTO_LENGTH));
    napi_set_named_property(env, value, "category", string(env, error->category, NAPI_AUTO_LENGTH));
    napi_set_named_property(env, value, "json", string(env, json, json_length));
    asr_free(json);
    return value;
}

static void execute(napi_env env, void *data) {
    (void)env;
    perform(data);
}

static void complete(napi_env env, napi_status status, void *data) {
    struct call *call = data;
    if (status == napi_ok) {
        napi_resolve_deferred(
            env, call->deferred, outcome(env, call->status, &call->error, call->json, call->json_length));
    }
    if (call->owner != NULL) napi_delete_reference(env, call->owner);
    napi_delete_async_work(env, call->work);
    free(call->copy);
    free(call);
}

static napi_value failure(napi_env env, const char *message) {
    napi_throw_type_error(env, NULL, message);
    return NULL;
}

// Node 18 aborts the process if napi_get_buffer_info gets something else than an array of bytes.
static bool bytes_of(napi_env env, napi_value value, void **bytes, size_t *length) {
    bool is_buffer;
    return napi_is_buffer(env, value, &is_buffer) == napi_ok && is_buffer
        && napi_get_buffer_info(env, value, bytes, length) == napi_ok;
}

// Whether the pieces are in the evidence. The library cannot know how much memory it was given.
static bool lengths_fit(const struct call *call) {
    size_t left = call->length;
    for (size_t i = 0; i < call->count; i++) {
        uint64_t length;
        memcpy(&length, (const char *)call->lengths + i * sizeof length, sizeof length);
        if (length > left) return false;
        left -= (size_t)length;
    }
    return true;
}

// call(operation, verifier, evidence, lengths, flags, date, isAsynchronous). The lengths are a BigUint64Array, the date is a BigInt.
static napi_value call(napi_env env, napi_callback_info info) {
    size_t argc = 7;
    napi_value argv[7];
    napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct call local = {0};
    bool is_lossless, is_asynchronous;
    size_t lengths_size;
    napi_valuetype type;
    if (argc < 7 || napi_get_value_uint32(env, argv[0], &local.operation) != napi_ok
        || napi_typeof(env, argv[1], &type) != napi_ok
        || (type == napi_external && napi_get_value_external(env, argv[1], (void **)&local.verifier) != napi_ok)
        || !bytes_of(env, argv[2], &local.evidence, &local.length)
        || !bytes_of(env, argv[3], &local.lengths, &lengths_size)
        || napi_get_value_uint32(env, argv[4], &local.flags) != napi_ok
        || napi_get_value_bigint_int64(env, argv[5], &local.date, &is_lossless) != napi_ok
        || napi_get_value_bool(env, argv[6], &is_asynchronous) != napi_ok)
        return failure(env, "an argument has the wrong type");
    local.count = lengths_size / sizeof(uint64_t);
    if (lengths_size % sizeof(uint64_t) != 0 || !lengths_fit(&local)) return failure(env, "the lengths are not those of the evidence");

    if (!is_asynchronous) {
        perform(&local);
        return outcome(env, local.status, &local.error, local.json, local.json_length);
    }
    struct call *job = malloc(sizeof *job);
    char *copy = malloc(lengths_size + local.length + 1);
    if (job == NULL || copy == NULL) {
        free(job);
        free(copy);
        return failure(env, "out of memory");
    }
    *job = local;
    job->copy = copy;
    if (lengths_size > 0) memcpy(copy, local.lengths, lengths_size);
    if (local.length > 0) memcpy(copy + lengths_size, local.evidence, local.length);
    job->lengths = copy;
    job->evidence = copy + lengths_size;
    napi_value promise, name = string(env, "appstorereceipt", NAPI_AUTO_LENGTH);
    if (type == napi_external) napi_create_reference(env, argv[1], 1, &job->owner);
    napi_create_promise(env, &job->deferred, &promise);
    napi_create_async_work(env, NULL, name, execute, complete, job, &job->work);
    napi_queue_async_work(env, job->work);
    return promise;
}

// Sets an option to the bytes of a buffer; without one, it is present and empty.
static bool set(napi_env env, asr_options *options, const char *name, napi_value value) {
    void *bytes;
    size_t length;
    napi_valuetype type;
    if (napi_typeof(env, value, &type) == napi_ok && type == napi_null)
        return asr_options_set_nothing(options, name) == ASR_VERIFIED;
    return bytes_of(env, value, &bytes, &length) && asr_options_set(options, name, bytes, length) == ASR_VERIFIED;
}

static void finalize(napi_env env, void *data, void *hint) {
    (void)env;
    (void)hint;
    asr_verifier_free(data);
}

// create([[name, value, name in JavaScript], …]) returns {status, code, category, json, verifier}, or the last name of an option that cannot be read.
static napi_value create(napi_env env, napi_callback_info info) {
    size_t argc = 1;
    uint32_t count = 0;
    napi_value entries, name = NULL;
    napi_get_cb_info(env, info, &argc, &entries, NULL, NULL);
    if (argc < 1 || napi_get_array_length(env, entries, &count) != napi_ok) return failure(env, "the options are no array");
    asr_options *options = asr_options_new();
    asr_options_set_binding(options, "node");
    for (uint32_t i = 0; i < count; i++) {
        napi_value entry, value;
        char text[64] = "";
        if (napi_get_element(env, entries, i, &entry) != napi_ok || napi_get_element(env, entry, 0, &name) != napi_ok
            || napi_get_element(env, entry, 1, &value) != napi_ok
            || napi_get_value_string_utf8(env, name, text, sizeof text, NULL) != napi_ok
            || !set(env, options, text, value)) {
            asr_options_free(options);
            napi_get_element(env, entry, 2, &name);
            return name;
        }
    }
    asr_verifier *verifier;
    char *json;
    size_t json_length;
    asr_error error;
    asr_status status = asr_verifier_new(options, &verifier, &json, &json_length, &error);
    asr_options_free(options);
    napi_value result = outcome(env, status, &error, json, json_length), external;
    if (verifier != NULL && napi_create_external(env, verifier, finalize, NULL, &external) == napi_ok)
        napi_set_named_property(env, result, "verifier", external);
    return result;
}

// counts(verifier) returns JSON.
static napi_value counts(napi_env env, napi_callback_info info) {
    size_t argc = 1, json_length;
    napi_value external;
    void *verifier;
    char *json;
    napi_get_cb_info(env, info, &argc, &external, NULL, NULL);
    if (argc < 1 || napi_get_value_external(env, external, &verifier) != napi_ok) return failure(env, "no verifier");
    asr_counts(verifier, &json, &json_length);
    napi_value value = string(env, json, json_length);
    asr_free(json);
    return value;
}

NAPI_MODULE_INIT() {
    const struct { const char *name; napi_callback function; } functions[] = {
        {"call", call}, {"create", create}, {"counts", counts}};
    for (size_t i = 0; i < 3; i++) {
        napi_value value;
        napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].function, NULL, &value);
        napi_set_named_property(env, exports, functions[i].name, value);
    }
    napi_set_named_property(env, exports, "version", string(env, asr_version(), NAPI_AUTO_LENGTH));
    return exports;
}
