#pragma once

#include <stddef.h>
#include <stdint.h>

// How often this thread has allocated memory: malloc, calloc, realloc and the aligned ones.
uint64_t gauge_allocations(void);

// Returns freed memory to the system, resets the peak, and returns the resident set in bytes; 0 if it is unknown.
size_t gauge_reset_resident_peak(void);

// The largest resident set since then, in bytes.
size_t gauge_resident_peak(void);

// Nanoseconds on a clock that only goes forward.
uint64_t gauge_nanoseconds(void);
