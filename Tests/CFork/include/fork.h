#pragma once

// Swift hides `fork`.

// Runs `body` in a child process and waits for it. Returns what it returns, at most 255; -1 for a child that takes longer than that many seconds, which is
// killed, or that dies otherwise.
int trial_in_child(int (*body)(void *context), void *context, unsigned seconds);
