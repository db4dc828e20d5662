/* The device side of USB: what a FunctionFS endpoint is, and news of controllers. */
#define _GNU_SOURCE
#include "relay_shims.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/usb/functionfs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

int relay_functionfs_packet_bytes(int fd, uint16_t *bytes) {
    struct usb_endpoint_descriptor descriptor;
    memset(&descriptor, 0, sizeof descriptor);
    if (ioctl(fd, FUNCTIONFS_ENDPOINT_DESC, &descriptor) < 0) return errno;
    const uint8_t *size = (const uint8_t *)&descriptor.wMaxPacketSize;
    *bytes = (uint16_t)((size[0] | size[1] << 8) & 0x7ff);
    return 0;
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
