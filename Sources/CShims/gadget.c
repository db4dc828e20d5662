/* The device side of USB: what a FunctionFS endpoint is, and news of controllers. */
#define _GNU_SOURCE
#include "relay_shims.h"

#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/netlink.h>
#include <linux/usb/functionfs.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int relay_functionfs_packet_bytes(int fd, uint16_t *bytes) {
    struct usb_endpoint_descriptor descriptor;
    memset(&descriptor, 0, sizeof descriptor);
    if (ioctl(fd, FUNCTIONFS_ENDPOINT_DESC, &descriptor) < 0) return errno;
    const uint8_t *size = (const uint8_t *)&descriptor.wMaxPacketSize;
    *bytes = (uint16_t)((size[0] | size[1] << 8) & 0x7ff);
    return 0;
}

int relay_transfers_open(uint32_t room, uint64_t *transfers) {
    aio_context_t context = 0;
    if (syscall(SYS_io_setup, room, &context) < 0) return errno;
    *transfers = context;
    return 0;
}

void relay_transfers_close(uint64_t transfers) { syscall(SYS_io_destroy, (aio_context_t)transfers); }

int relay_transfers_bell(int *bell) {
    int opened = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (opened < 0) return errno;
    *bell = opened;
    return 0;
}

int relay_transfers_begin(
    uint64_t transfers, int fd, int to_host, int bell, const struct relay_transfer *begun, int count) {
    struct iocb requests[RELAY_TRANSFERS], *pointers[RELAY_TRANSFERS];
    if (count < 0 || count > RELAY_TRANSFERS) return -EINVAL;
    memset(requests, 0, sizeof requests);
    for (int i = 0; i < count; i++) {
        requests[i].aio_data = begun[i].name;
        requests[i].aio_lio_opcode = to_host ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
        requests[i].aio_fildes = (uint32_t)fd;
        requests[i].aio_buf = (uint64_t)(uintptr_t)begun[i].bytes;
        requests[i].aio_nbytes = begun[i].count;
        if (bell >= 0) {
            requests[i].aio_flags = IOCB_FLAG_RESFD;
            requests[i].aio_resfd = (uint32_t)bell;
        }
        pointers[i] = &requests[i];
    }
    long taken = syscall(SYS_io_submit, (aio_context_t)transfers, (long)count, pointers);
    return taken < 0 ? -errno : (int)taken;
}

int relay_transfers_wait(uint64_t transfers, struct relay_transfer *ended, int count, int milliseconds) {
    struct io_event events[RELAY_TRANSFERS];
    struct timespec timeout = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L};
    if (count > RELAY_TRANSFERS) count = RELAY_TRANSFERS;
    long got = syscall(
        SYS_io_getevents, (aio_context_t)transfers, 1L, (long)count, events, milliseconds < 0 ? NULL : &timeout);
    if (got < 0) return -errno;
    for (long i = 0; i < got; i++) {
        ended[i].name = events[i].data;
        ended[i].result = events[i].res;
    }
    return (int)got;
}

/* The kernel's own messages, which systemd-udevd reads too. */
#define RELAY_UEVENT_KERNEL 1

int relay_uevent_open(int *fd) {
    int kind = SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    int opened = socket(AF_NETLINK, kind, NETLINK_KOBJECT_UEVENT);
    if (opened < 0) return errno;
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RELAY_UEVENT_KERNEL};
    if (bind(opened, (struct sockaddr *)&address, sizeof address) < 0) {
        int error = errno;
        close(opened);
        return error;
    }
    *fd = opened;
    return 0;
}
