/* What a real tty driver does and a pty does not: a library that a program is preloaded with.
 *
 *     LD_PRELOAD=slow-tty.so SLOW_TTY=/path/of/the/tty SLOW_TTY_ORDERS=/path/of/a/file PROGRAM
 *
 * The file holds what the tty does from now on, one word after the other; an empty or missing file
 * leaves it alone. ProgramTests write it.
 *
 *     close      The last close waits for output, as tty_wait_until_sent does: until a signal comes,
 *                until the word is taken away, or for half a minute. A flush does not help.
 *     stuck      That wait, and those of open and queue, do not end with a signal.
 *     open       Opening waits in the same way.
 *     hangup     The tty hangs up while it is being opened: every request fails with EIO.
 *     deny       Opening fails with EACCES.
 *     queue      Asking how many bytes wait for output waits in the same way.
 *     exit       The program's end waits until no thread of a device is left, half a minute at most.
 *     noadapter  Opening fails with EHOSTUNREACH, as an RFCOMM tty's does.
 *
 * While a close waits, another open of the tty waits for it, whatever its flags: the kernel holds
 * the tty's lock. What it does is written to the orders' file with ".log" behind it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define DESCRIPTORS 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Which open file each descriptor of the tty belongs to; 0 for others. */
static int file_of[DESCRIPTORS];
static int references[DESCRIPTORS];
static int next_file = 1;
static int closing;
static pthread_cond_t closed = PTHREAD_COND_INITIALIZER;

static int (*real_open)(const char *, int, ...);
static int (*real_close)(int);
static int (*real_fcntl)(int, int, ...);
static int (*real_ioctl)(int, unsigned long, ...);

__attribute__((constructor)) static void find(void) {
    real_open = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    real_close = (int (*)(int))dlsym(RTLD_NEXT, "close");
    real_fcntl = (int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl");
    real_ioctl = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
}

static int ordered(const char *word) {
    const char *path = getenv("SLOW_TTY_ORDERS");
    char text[256];
    int file = path ? real_open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return 0;
    ssize_t size = read(file, text, sizeof text - 1);
    real_close(file);
    text[size > 0 ? size : 0] = 0;
    return strstr(text, word) != NULL;
}

static void say(const char *what) {
    char path[PATH_MAX], line[80];
    const char *orders = getenv("SLOW_TTY_ORDERS");
    if (!orders) return;
    snprintf(path, sizeof path, "%s.log", orders);
    int file = real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) return;
    int size = snprintf(line, sizeof line, "%s\n", what);
    if (write(file, line, (size_t)size) < 0) { /* Nobody to tell. */ }
    real_close(file);
}

/* Waits while the word stands in the orders; half a minute is the kernel's closing_wait. */
static void wait_in_driver(const char *word) {
    char line[80];
    snprintf(line, sizeof line, "%s waits", word);
    say(line);
    for (int tenth = 0; tenth < 300 && ordered(word); tenth++) {
        struct timespec rest = {0, 100 * 1000 * 1000};
        if (nanosleep(&rest, NULL) < 0 && errno == EINTR && !ordered("stuck")) {
            snprintf(line, sizeof line, "%s interrupted", word);
            say(line);
            return;
        }
    }
    snprintf(line, sizeof line, "%s over", word);
    say(line);
}

static int is_tty(const char *path) {
    const char *tty = getenv("SLOW_TTY");
    return tty && strcmp(tty, path) == 0;
}

static void opened(int descriptor, int file) {
    if (descriptor < 0 || descriptor >= DESCRIPTORS) return;
    pthread_mutex_lock(&lock);
    file_of[descriptor] = file ? file : next_file++;
    references[file_of[descriptor]]++;
    pthread_mutex_unlock(&lock);
}

static int open_tty(const char *path, int flags) {
    pthread_mutex_lock(&lock);
    while (closing) pthread_cond_wait(&closed, &lock);
    pthread_mutex_unlock(&lock);
    if (ordered("deny")) { errno = EACCES; return -1; }
    if (ordered("noadapter")) { errno = EHOSTUNREACH; return -1; }
    if (ordered("open")) wait_in_driver("open");
    int descriptor = real_open(path, flags);
    opened(descriptor, 0);
    return descriptor;
}

static int open_any(const char *path, int flags, mode_t mode) {
    return is_tty(path) ? open_tty(path, flags) : real_open(path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_any(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_any(path, flags, mode);
}

static int fcntl_any(int descriptor, int command, void *argument) {
    int result = real_fcntl(descriptor, command, argument);
    if ((command == F_DUPFD || command == F_DUPFD_CLOEXEC) && descriptor >= 0 &&
        descriptor < DESCRIPTORS && file_of[descriptor])
        opened(result, file_of[descriptor]);
    return result;
}

int fcntl(int descriptor, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return fcntl_any(descriptor, command, argument);
}

int fcntl64(int descriptor, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return fcntl_any(descriptor, command, argument);
}

int ioctl(int descriptor, unsigned long request, ...) {
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (descriptor >= 0 && descriptor < DESCRIPTORS && file_of[descriptor]) {
        if (ordered("hangup")) { errno = EIO; return -1; }
        /* Like ftdi_sio: nothing is emptied, and output waits. */
        if (request == TCFLSH && ordered("close")) return 0;
        if (request == TIOCOUTQ && ordered("queue")) wait_in_driver("queue");
        if (request == TIOCOUTQ && ordered("close")) { *(int *)argument = 4608; return 0; }
    }
    return real_ioctl(descriptor, request, argument);
}

int close(int descriptor) {
    int is_last = 0;
    if (descriptor >= 0 && descriptor < DESCRIPTORS) {
        pthread_mutex_lock(&lock);
        int file = file_of[descriptor];
        file_of[descriptor] = 0;
        is_last = file != 0 && --references[file] == 0;
        if (is_last) closing++;
        pthread_mutex_unlock(&lock);
    }
    if (!is_last) return real_close(descriptor);
    if (ordered("close")) wait_in_driver("close");
    int result = real_close(descriptor);
    pthread_mutex_lock(&lock);
    if (--closing == 0) pthread_cond_broadcast(&closed);
    pthread_mutex_unlock(&lock);
    return result;
}

/* relayd calls the threads that open and close devices "device". */
static int device_threads(void) {
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    if (!tasks) return 0;
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[PATH_MAX], name[16];
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        int file = real_open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) continue;
        count += read(file, name, sizeof name) >= 7 && memcmp(name, "device\n", 7) == 0;
        real_close(file);
    }
    closedir(tasks);
    return count;
}

__attribute__((destructor)) static void leave(void) {
    if (!ordered("exit")) return;
    say("exit waits");
    for (int hundredth = 0; hundredth < 3000 && device_threads() > 0; hundredth++) {
        struct timespec rest = {0, 10 * 1000 * 1000};
        nanosleep(&rest, NULL);
    }
    say("exit over");
}
