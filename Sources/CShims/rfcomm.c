/* The Bluetooth requests we need, spelt out so that no BlueZ header is needed to build. */
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

#define RELAY_SOL_BLUETOOTH 274
#define RELAY_BT_SECURITY 4
#define RELAY_BT_SECURITY_MEDIUM 2

struct relay_rfcomm_address {
    sa_family_t family;
    uint8_t device[6];
    uint8_t channel;
};

struct relay_bt_security {
    uint8_t level;
    uint8_t key_size;
};

int relay_rfcomm_connect(const uint8_t *device, uint8_t channel, int *fd) {
    int made = socket(AF_BLUETOOTH, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, RELAY_BTPROTO_RFCOMM);
    if (made < 0) return errno;
    struct relay_bt_security security = {.level = RELAY_BT_SECURITY_MEDIUM};
    struct relay_rfcomm_address address = {.family = AF_BLUETOOTH, .channel = channel};
    /* The last byte that is written comes first. */
    for (int i = 0; i < 6; i++) address.device[i] = device[5 - i];
    if (setsockopt(made, RELAY_SOL_BLUETOOTH, RELAY_BT_SECURITY, &security, sizeof security) == 0 &&
        (connect(made, (struct sockaddr *)&address, sizeof address) == 0 || errno == EINPROGRESS)) {
        *fd = made;
        return 0;
    }
    int error = errno;
    close(made);
    return error;
}
