/* What the calling thread is called, and how it shares the processors. */
#define _GNU_SOURCE
#include "relay_shims.h"

#include <errno.h>
#include <pthread.h>
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
