#include "failing.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>

// One thread at a time is tried.
static struct {
    int is_active, all;
    unsigned long n, count;
    enum failing_schedule schedule;
} state;

static int is_next_to_fail(int is_libcrypto) {
    if (!state.is_active || state.all == is_libcrypto) return 0;
    unsigned long count = ++state.count;
    if (state.n == 0) return 0;
    switch (state.schedule) {
    case failing_once: return count == state.n;
    case failing_elsewhere:
        if (count == state.n) errno = ENOMEM;
        return 0;
    case failing_every: return count % state.n == 0;
    case failing_onwards: return count >= state.n;
    }
    return 0;
}

static int fails(int is_libcrypto) {
    if (!is_next_to_fail(is_libcrypto)) return 0;
    errno = ENOMEM;
    return 1;
}

void failing_start(unsigned long n, enum failing_schedule schedule, int all) {
    state.n = n;
    state.count = 0;
    state.schedule = schedule;
    state.all = all;
    state.is_active = 1;
}

unsigned long failing_stop(void) {
    state.is_active = 0;
    return state.count;
}

static void *libcrypto_malloc(size_t size, const char *file, int line) { return fails(1) ? NULL : malloc(size); }

static void *libcrypto_realloc(void *pointer, size_t size, const char *file, int line) {
    return fails(1) ? NULL : realloc(pointer, size);
}

static void libcrypto_free(void *pointer, const char *file, int line) { free(pointer); }

int failing_prepare_libcrypto(void) {
    return CRYPTO_set_mem_functions(libcrypto_malloc, libcrypto_realloc, libcrypto_free);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED
#endif
#endif

#if defined(__GLIBC__) && !defined(IS_SANITIZED)

// A program's own definitions precede glibc's in all libraries of the process.

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

int failing_has_all(void) { return 1; }

void *malloc(size_t size) { return fails(0) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails(0) ? NULL : __libc_calloc(count, size); }
void *realloc(void *pointer, size_t size) { return fails(0) ? NULL : __libc_realloc(pointer, size); }
void *aligned_alloc(size_t alignment, size_t size) {
    return fails(0) ? NULL : __libc_memalign(alignment, size);
}
void *memalign(size_t alignment, size_t size) { return fails(0) ? NULL : __libc_memalign(alignment, size); }
int posix_memalign(void **pointer, size_t alignment, size_t size) {
    void *memory = fails(0) ? NULL : __libc_memalign(alignment, size);
    if (memory == NULL) return ENOMEM;
    *pointer = memory;
    return 0;
}

#else

int failing_has_all(void) { return 0; }

#endif
