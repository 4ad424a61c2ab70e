/* Two threads that fork at the same time; one takes longer than the other waits. */
#include "CProcess.h"
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static _Thread_local int is_slow;

static void before_fork(void) {
    if (is_slow) sleep(3);
}

/* What is registered first runs last before fork(): while the library waits for the child. */
__attribute__((constructor(101))) static void load(void) { pthread_atfork(before_fork, NULL, NULL); }

static void *fork_once(void *kind) {
    is_slow = kind != NULL;
    pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
    return NULL;
}

int main(void) {
    pthread_t slow, quick;
    if (pthread_create(&slow, NULL, fork_once, "slow")) return 1;
    usleep(300000);
    if (pthread_create(&quick, NULL, fork_once, NULL)) return 1;
    pthread_join(slow, NULL);
    pthread_join(quick, NULL);
    /* Ends the process if nobody has opened the gate. */
    alarm(20);
    process_enter();
    process_leave();
    puts("two forks at the same time: the library is open afterwards");
}
