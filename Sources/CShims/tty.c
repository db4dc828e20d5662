/* Ttys through <asm/termbits.h>: struct termios2 cannot meet <termios.h> in one file. */
#define _GNU_SOURCE
#include "relay_shims.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <errno.h>

/* <sys/ioctl.h> would bring in a second struct winsize and friends. */
extern int ioctl(int fd, unsigned long request, ...);

/* TIOCM_* live in <asm/termios.h>, which clashes with <asm/termbits.h> on some machines;
 * the numbers are kernel ABI. */
#define RELAY_TIOCM_DTR 0x002
#define RELAY_TIOCM_CAR 0x040

static int result(int rc) { return rc < 0 ? errno : 0; }

int relay_tty_set_raw(int fd, uint32_t baud, bool rts_cts) {
    struct termios2 tio;
    if (ioctl(fd, TCGETS2, &tio) < 0) return errno;
    tio.c_iflag &= ~(IGNBRK | BRKINT | PARMRK | ISTRIP | INLCR | IGNCR | ICRNL | IXON | IXOFF |
                     IXANY | INPCK);
    tio.c_oflag &= ~OPOST;
    tio.c_lflag &= ~(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
    tio.c_cflag &= ~(CSIZE | PARENB | CSTOPB | CRTSCTS);
    tio.c_cflag |= CS8 | CREAD | CLOCAL;
    if (rts_cts) tio.c_cflag |= CRTSCTS;
    if (baud != 0) {
        tio.c_cflag &= ~(CBAUD | (CBAUD << IBSHIFT));
        tio.c_cflag |= BOTHER | (BOTHER << IBSHIFT);
        tio.c_ispeed = baud;
        tio.c_ospeed = baud;
    }
    tio.c_cc[VMIN] = 1;
    tio.c_cc[VTIME] = 0;
    return result(ioctl(fd, TCSETS2, &tio));
}

int relay_tty_get_settings(int fd, uint32_t *baud, bool *rts_cts, bool *raw) {
    struct termios2 tio;
    if (ioctl(fd, TCGETS2, &tio) < 0) return errno;
    if (baud) *baud = tio.c_ospeed;
    if (rts_cts) *rts_cts = (tio.c_cflag & CRTSCTS) != 0;
    if (raw) {
        *raw = !(tio.c_lflag & (ICANON | ECHO | ISIG | IEXTEN)) && !(tio.c_oflag & OPOST) &&
               !(tio.c_iflag & (ICRNL | INLCR | IGNCR | IXON | IXOFF | ISTRIP)) &&
               (tio.c_cflag & CSIZE) == CS8;
    }
    return 0;
}

int relay_tty_set_exclusive(int fd, bool exclusive) {
    return result(ioctl(fd, exclusive ? TIOCEXCL : TIOCNXCL));
}

int relay_tty_set_dtr(int fd, bool on) {
    int lines = RELAY_TIOCM_DTR;
    return result(ioctl(fd, on ? TIOCMBIS : TIOCMBIC, &lines));
}

int relay_tty_get_carrier(int fd, bool *carrier) {
    int lines = 0;
    if (ioctl(fd, TIOCMGET, &lines) < 0) return errno;
    *carrier = (lines & RELAY_TIOCM_CAR) != 0;
    return 0;
}

int relay_tty_output_queue(int fd, int *bytes) { return result(ioctl(fd, TIOCOUTQ, bytes)); }

int relay_tty_flush(int fd) { return result(ioctl(fd, TCFLSH, TCIOFLUSH)); }
