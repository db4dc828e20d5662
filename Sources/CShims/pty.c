/* Pseudo-terminals, for the tests' stand-in of a serial device. */
#define _GNU_SOURCE
#include "relay_shims.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int relay_pty_open(int *master, char *path, size_t size) {
    int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return errno;
    int error = grantpt(fd) < 0 || unlockpt(fd) < 0 ? errno : ptsname_r(fd, path, size);
    if (error != 0) {
        close(fd);
        return error;
    }
    *master = fd;
    return 0;
}
