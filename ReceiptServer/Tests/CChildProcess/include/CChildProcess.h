#pragma once
#include <sys/types.h>

/// Starts a program with no signals blocked, and no descriptors but its input, its output and its errors, which go to
/// its output.
///
/// Returns the id of the process, or -1. `input` and `output` become the ends of the pipes.
pid_t ledger_spawn(char *const arguments[], char *const variables[], int *input, int *output);
