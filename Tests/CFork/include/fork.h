#pragma once

// Swift hides `fork`.

// Runs `body` in a child process and waits for it. Returns what it returns, at most 255, or the negative number of the
// signal that killed it: SIGKILL for a child that took longer than that many seconds, SIGCHLD if there is no child.
int trial_in_child(int (*body)(void *context), void *context, unsigned seconds);
