/*
 * fork() under load, small stacks, exit() during verification, and, if there are calls, memory. usage: processes
 * CHILDREN CALLS
 */
#include "test.h"
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What the header promises. Instrumented code takes more. */
#ifndef STACK
#define STACK 65536
#endif

static asr_verifier *verifier;
static atomic_int stopped;

static void *verify_all(void *once) {
    do {
        for (int i = 0; i < case_count; i++) {
            const test_case *c = &cases[i];
            if (strcmp(c->call, "verify")) continue;
            char *json;
            asr_verify(verifier, c->evidence[0].bytes, c->evidence[0].length, 0, &json, NULL, NULL);
            asr_free(json);
        }
        const test_case *answer = case_named("answer");
        asr_answer(verifier, answer->evidence[0].bytes, answer->evidence[0].length, 0, NULL, NULL, NULL);
    } while (!once && !stopped);
    return NULL;
}

static long milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits for a child that may hang, and says whether it ended well. */
static int ends_well(pid_t child) {
    for (long start = milliseconds(); milliseconds() - start < 20000; usleep(500)) {
        int status;
        if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}

static void forks(int children) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) check(!pthread_create(&threads[i], NULL, verify_all, NULL));
    int failed = 0;
    for (int i = 0; i < children; i++) {
        pid_t child = fork();
        if (child == 0) {
            const test_case *good = case_named("receipt"), *bad = case_named("refused: chain");
            const test_case *answer = case_named("answer"), *any = case_named("receipt of any app");
            for (int j = 0; j < 3; j++) {
                if (asr_verify(verifier, good->evidence[0].bytes, good->evidence[0].length, 0, NULL, NULL, NULL) != ASR_VERIFIED) _exit(1);
                if (asr_verify(verifier, bad->evidence[0].bytes, bad->evidence[0].length, 0, NULL, NULL, NULL) != ASR_REFUSED) _exit(2);
                if (asr_answer(verifier, answer->evidence[0].bytes, answer->evidence[0].length, 0, NULL, NULL, NULL) != ASR_VERIFIED) _exit(3);
            }
            /* A child may make verifiers, too. */
            if (!verifier_of(any)) _exit(4);
            _exit(0);
        }
        check(child > 0);
        failed += !ends_well(child);
    }
    stopped = 1;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    printf("fork: %d of %d children hung or failed\n", failed, children);
    check(!failed);
}

static void small_stack(void) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    check(!pthread_attr_setstacksize(&attributes, STACK < PTHREAD_STACK_MIN ? PTHREAD_STACK_MIN : STACK));
    pthread_t thread;
    int once = 1;
    check(!pthread_create(&thread, &attributes, verify_all, &once));
    pthread_join(thread, NULL);
    printf("a thread with a stack of %d KiB verified every case\n", STACK / 1024);
}

static void exits(int children) {
    for (int i = 0; i < children; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            stopped = 0;
            pthread_t threads[3];
            for (int j = 0; j < 3; j++) check(!pthread_create(&threads[j], NULL, verify_all, NULL));
            usleep((unsigned)(1000 + 200 * i));
            exit(0);
        }
        check(ends_well(child));
    }
    printf("exit() during verification: %d of %d clean\n", children, children);
}

static long resident(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    check(file && fscanf(file, "%*d %ld", &pages) == 1);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void memory(long calls) {
    const test_case *good = case_named("receipt"), *bad = case_named("refused: chain");
    long before = 0;
    for (long i = 0; i < calls; i++) {
        /* After the first tenth, caches have grown. */
        if (i == calls / 10) before = resident();
        const test_case *c = i % 4 ? good : bad;
        char *json;
        check(asr_verify(verifier, c->evidence[0].bytes, c->evidence[0].length, 0, &json, NULL, NULL) == c->status);
        asr_free(json);
        if (i % 1000 == 0) asr_verifier_free(verifier_of(good));
    }
    long growth = resident() - before;
    printf("%ld calls: %ld KiB more memory\n", calls, growth);
    check(growth < 2048);
}

int main(int count, char **arguments) {
    check(count == 3);
    verifier = verifier_of(case_named("entitlements"));
    verify_all(&(int){1});
    small_stack();
    if (atol(arguments[2]) > 0) memory(atol(arguments[2]));
    forks(atoi(arguments[1]));
    exits(atoi(arguments[1]) / 2);
}
