#define _GNU_SOURCE
#include "CProcess.h"
#include <openssl/crypto.h>
#include <pthread.h>
#include <time.h>

/*
 * A child of fork() has one thread, and each lock in the state in which the threads of its parent left it. libcrypto
 * has locks of its own (for its providers, its stores of certificates, its indices of application data), which hang 1
 * of 300 children if other threads verify at the time of the fork. Therefore fork() waits until no thread is inside the
 * library.
 */
static pthread_rwlock_t gate;
/* Whether this thread closed it. Another one that forks at the same time may have waited in vain. */
static _Thread_local int closed;

void process_enter(void) { pthread_rwlock_rdlock(&gate); }
void process_leave(void) { pthread_rwlock_unlock(&gate); }

static void open_gate(void) {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
#ifdef __GLIBC__
    /* Otherwise, fork() waits for ever under load. */
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
    pthread_rwlock_init(&gate, &attributes);
    pthread_rwlockattr_destroy(&attributes);
}

static void before_fork(void) {
#ifdef __APPLE__
    closed = pthread_rwlock_wrlock(&gate) == 0;
#else
    /*
     * Longer than any verification takes. A signal handler may fork inside the library, and must not wait for itself.
     */
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 2;
    closed = pthread_rwlock_timedwrlock(&gate, &end) == 0;
#endif
}

static void in_parent(void) {
    if (closed) pthread_rwlock_unlock(&gate);
}

/*
 * Our own libcrypto ignores the system's configuration (OPENSSL_CONF and openssl.cnf), which can load code, demand a
 * FIPS module that is not there, and take algorithms away. The system's libcrypto reads it: systems demand FIPS there.
 */
#ifdef ASR_OWN_LIBCRYPTO
static const uint64_t configuration = OPENSSL_INIT_NO_LOAD_CONFIG;
#else
static const uint64_t configuration = 0;
#endif

/*
 * By default, libcrypto frees everything in an exit handler, and a thread that verifies at that time crashes. The
 * options count only before any other call of libcrypto.
 */
__attribute__((constructor)) static void load(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT | configuration, NULL);
    open_gate();
    pthread_atfork(before_fork, in_parent, open_gate);
}
