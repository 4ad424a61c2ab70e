#define _GNU_SOURCE
#include "gauges.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

uint64_t gauge_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#ifdef __GLIBC__
#include <malloc.h>

// glibc's allocator under its other names: every library, libcrypto and the Swift runtime included, calls a program's
// malloc instead of glibc's.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static __thread uint64_t allocations;

uint64_t gauge_allocations(void) { return allocations; }

void *malloc(size_t size) {
    allocations += 1;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    allocations += 1;
    return __libc_calloc(count, size);
}

void *realloc(void *pointer, size_t size) {
    allocations += 1;
    return __libc_realloc(pointer, size);
}

void *memalign(size_t alignment, size_t size) {
    allocations += 1;
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    allocations += 1;
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    allocations += 1;
    void *pointer = __libc_memalign(alignment, size);
    if (pointer == NULL) return ENOMEM;
    *result = pointer;
    return 0;
}

void free(void *pointer) { __libc_free(pointer); }

static size_t status(const char *format) {
    char line[256];
    size_t kibibytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    if (file == NULL) return 0;
    while (fgets(line, sizeof line, file) != NULL && sscanf(line, format, &kibibytes) != 1) continue;
    fclose(file);
    return kibibytes * 1024;
}

size_t gauge_reset_resident_peak(void) {
    malloc_trim(0);
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file == NULL) return 0;
    fputs("5", file);
    fclose(file);
    return status("VmRSS: %zu kB");
}

size_t gauge_resident_peak(void) { return status("VmHWM: %zu kB"); }

#else

uint64_t gauge_allocations(void) { return 0; }
size_t gauge_reset_resident_peak(void) { return 0; }
size_t gauge_resident_peak(void) { return 0; }

#endif
