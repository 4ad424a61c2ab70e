#pragma once

// Which of a process's allocations fail. A failing allocation returns NULL, as when memory has run out. It sets `errno`
// to ENOMEM.

enum failing_schedule {
    failing_once,    // the n-th
    failing_every,   // each whose number is a multiple of n
    failing_onwards, // the n-th and all later ones
    // The n-th sets `errno` to ENOMEM and returns memory, as glibc's `malloc` does if `brk` cannot extend the heap.
    failing_elsewhere,
};

// Puts a counter in front of libcrypto's allocations. Returns 0 if libcrypto has allocated memory before, or cannot be
// asked.
int failing_prepare_libcrypto(void);

// Whether `failing_start` can let allocations fail that are not libcrypto's. It needs glibc, and no sanitizer.
int failing_has_all(void);

// Begins to count, from 1. If `n` is 0, none fails.
void failing_start(unsigned long n, enum failing_schedule schedule, int all);

// Ends the failures. Returns how many allocations were counted.
unsigned long failing_stop(void);
