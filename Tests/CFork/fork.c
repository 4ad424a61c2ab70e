#include "fork.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int trial_in_child(int (*body)(void *context), void *context, unsigned seconds) {
    pid_t child = fork();
    if (child < 0) return -SIGCHLD;
    if (child == 0) _exit(body(context));
    struct timespec pause = {0, 200000};
    int status = 0;
    for (unsigned waits = 0; waits < seconds * 5000; waits++) {
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        nanosleep(&pause, NULL);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -SIGKILL;
}
