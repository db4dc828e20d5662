/* Tells what the fake USB device costs a program from what the program costs itself. Built and put
 * in front of programs by RelayBenchmarks.
 *
 * Each usbfs ioctl of a program goes to the fake device's process and back, on the program's own
 * processor time; a kernel would take a few microseconds. The library adds up that time, of all
 * threads, and the number of calls. It has to stand before umockdev's in LD_PRELOAD, and writes to
 * the file named in RIG_TIMER_FILE: two 64-bit numbers, nanoseconds and calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct total {
    int64_t nanoseconds, calls;
};

static struct total own, *total = &own;
static int (*next)(int, unsigned long, ...);

__attribute__((constructor)) static void share(void) {
    next = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
    const char *path = getenv("RIG_TIMER_FILE");
    if (!path) return;
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return;
    if (ftruncate(file, sizeof *total) == 0) {
        void *shared = mmap(NULL, sizeof *total, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (shared != MAP_FAILED) total = shared;
    }
    close(file);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int ioctl(int file, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    /* Before the constructor: another library's may ask for something. */
    if (!next) next = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
    if (_IOC_TYPE(request) != 'U') return next(file, request, argument);
    int64_t before = now();
    int result = next(file, request, argument);
    __atomic_fetch_add(&total->nanoseconds, now() - before, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->calls, 1, __ATOMIC_RELAXED);
    return result;
}
