/* What a thread is called, how it shares the processors, and how its waiting is ended. */
#define _GNU_SOURCE
#include "relay_shims.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* sched_setattr(2); glibc has had it since 2.41. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

int relay_thread_set_slice(uint64_t nanoseconds) {
    struct attributes wanted;
    memset(&wanted, 0, sizeof wanted);
    if (syscall(SYS_sched_getattr, 0, &wanted, sizeof wanted, 0) < 0) return errno;
    wanted.size = sizeof wanted;
    wanted.flags = 0;
    wanted.runtime = nanoseconds;
    return syscall(SYS_sched_setattr, 0, &wanted, 0) < 0 ? errno : 0;
}

int relay_thread_set_name(const char *name) { return pthread_setname_np(pthread_self(), name); }

/* Of the real-time signals glibc keeps the first for itself, and programs like to begin there. */
static int interrupting_signal(void) { return SIGRTMAX - 3; }

static void nothing(int signal) { (void)signal; }

int relay_interrupt_prepare(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    /* Without SA_RESTART: the call is to return. */
    action.sa_handler = nothing;
    return sigaction(interrupting_signal(), &action, NULL) < 0 ? errno : 0;
}

int relay_thread_allow_interrupt(void) {
    sigset_t set;
    sigfillset(&set);
    sigdelset(&set, interrupting_signal());
    return pthread_sigmask(SIG_SETMASK, &set, NULL);
}

int relay_thread_interrupt(unsigned long thread) {
    return pthread_kill((pthread_t)thread, interrupting_signal());
}
