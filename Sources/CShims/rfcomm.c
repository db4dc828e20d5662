/* The one Bluetooth request we need, spelt out so that no BlueZ header is needed to build. */
#define _GNU_SOURCE
#include "relay_shims.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* From the kernel's net/bluetooth/rfcomm.h; unchanged since Linux 2.4. */
#define RELAY_BTPROTO_RFCOMM 3
#define RELAY_RFCOMMGETDEVINFO _IOR('R', 211, int)
#define RELAY_BT_CONNECTED 1

struct relay_rfcomm_dev_info {
    int16_t id;
    uint32_t flags;
    uint16_t state;
    uint8_t source[6];
    uint8_t destination[6];
    uint8_t channel;
};

int relay_rfcomm_is_connected(int device_id, bool *connected) {
    int fd = socket(AF_BLUETOOTH, SOCK_RAW | SOCK_CLOEXEC, RELAY_BTPROTO_RFCOMM);
    if (fd < 0) return errno;
    struct relay_rfcomm_dev_info info = {.id = (int16_t)device_id};
    int error = ioctl(fd, RELAY_RFCOMMGETDEVINFO, &info) < 0 ? errno : 0;
    close(fd);
    if (error == 0) *connected = info.state == RELAY_BT_CONNECTED;
    return error;
}
