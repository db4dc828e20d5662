/* A USB device made of code, under real libusb: the kernel's usbfs played with umockdev.
 *
 *     LD_PRELOAD=libumockdev-preload.so.0 fake-usb-device CONTROL_SOCKET
 *
 * Prints "UMOCKDEV_DIR=…" for the environment of the program under test (which needs the same
 * LD_PRELOAD), then a line per event. ProgramTests build it, start it, and speak to it over
 * CONTROL_SOCKET, a line per command, answered by "ok" or "error …":
 *
 *     bridge PORT            every claim connects the bulk endpoints to 127.0.0.1:PORT
 *     plug PORT KIND SERIAL  KIND is openxc, openxc5 (the endpoints of firmware up to 5), phone,
 *                            accessory, board or stick; SERIAL "-" is none; PORT as in 1-2
 *     unplug PORT
 *     aoa MODE               what phones do when told to start: accessory, ignore, leave, same;
 *                            or unsupported: they know no accessory mode
 *     openxc FIRMWARE        what OpenXC interfaces answer to control requests: 5, 6, 7 (in JSON),
 *                            7p (in protobuf); none: they refuse them; mute: they never answer
 *     stall in|out COUNT     the next transfer stalls, and again after each of COUNT clear-halts
 *     short COUNT            the next transfer to the device takes only COUNT bytes
 *     fail in|out|overflow   the next transfer fails as by a bad cable, or by babble
 *     hold yes|no            the device takes nothing while yes
 *     sleep                  the kernel ends all transfers as when the host goes to sleep, and
 *                            keeps the device
 *     busy yes|no            the interface is claimed by another program
 *     note WORD              says it, so that all it said before can be read
 *     driver NAME|-          the interface has this kernel driver
 *     count                  answered by "ok" and the transfers so far
 *     moved                  answered by "ok" and the bytes that transfers moved: from the devices,
 *                            to them
 *     offered                answered by "ok" and the transfers that wait for bytes from the devices,
 *                            and all that have not been fetched: 0 when an open host has no room
 *
 * How libusb waits: it polls the usbfs node until it is writable, then reaps. The node is a FIFO
 * whose one-page buffer is kept full while nothing can be reaped and emptied when something can.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/usbdevice_fs.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <umockdev.h>
#include <unistd.h>

/* A transfer: the program's struct usbdevfs_urb and its buffer. */
typedef struct {
    UMockdevIoctlData *argument, *buffer;
    struct usbdevfs_urb *urb;
    int moved;
} Urb;

typedef struct {
    char port[16], serial[32];
    guint16 vendor, product;
    int number;
    gboolean is_old;
    char node[64];
    gboolean present, claimed, node_is_full;
    int fifo, bridge;
    GQueue incoming, outgoing, unanswered, done;
    GString *answers; /* go to the host before anything from the bridge */
    gboolean halted[2]; /* in, out */
    UMockdevIoctlBase *handler;
} Device;

enum { MAXIMUM_DEVICES = 4 };
static Device devices[MAXIMUM_DEVICES];
static GMutex lock; /* umockdev's thread and ours */
static GCond reaped; /* The host has fetched a transfer. */
static UMockdevTestbed *bed;
static int last_number, bridge_port, wake[2];
static long finished; /* transfers */
static long moved_in, moved_out; /* bytes of bulk transfers */
static int stalls[2] = {-1, -1}, short_bytes = -1, fail_next[2];
static gboolean is_held, is_busy;
/* What is behind a transfer taken in part waits until the host has noticed and taken it back. */
static gboolean is_cut;
static Urb *unnoticed;
static char driver[32], detached[32], aoa_mode[16] = "accessory", firmware[8] = "none";
static volatile sig_atomic_t must_end;
static Device *returning; /* to be back in accessory mode at this time */
static gint64 returns_at;

static void say(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
    fflush(stdout);
}

static void wake_up(void) {
    if (write(wake[1], "", 1) < 0) {}
}

/* ---- reaping ------------------------------------------------------------------------- */

/* After every change of what can be reaped. */
static void set_ready(Device *device) {
    static char page[4096];
    gboolean full = device->present && g_queue_is_empty(&device->done);
    if (full == device->node_is_full || device->fifo < 0) return;
    device->node_is_full = full;
    ssize_t moved = full ? write(device->fifo, page, sizeof page)
                         : read(device->fifo, page, sizeof page);
    if (moved != sizeof page) g_error("FIFO: %zd", moved);
}

static void count_moved(const Urb *urb, int bytes) {
    if (urb->urb->type == USBDEVFS_URB_TYPE_BULK)
        *(urb->urb->endpoint & 0x80 ? &moved_in : &moved_out) += bytes;
}

static void finish(Device *device, Urb *urb, int status, int bytes) {
    urb->urb->status = status;
    urb->urb->actual_length = bytes;
    finished++;
    count_moved(urb, bytes);
    g_queue_push_tail(&device->done, urb);
    set_ready(device);
}

/* ---- bytes --------------------------------------------------------------------------- */

static gboolean fails(Device *device, GQueue *queue, int direction) {
    Urb *urb = g_queue_peek_head(queue);
    if (!urb) return FALSE;
    if (device->halted[direction] || stalls[direction] >= 0) {
        if (!device->halted[direction]) say("stall %s", direction ? "out" : "in");
        device->halted[direction] = TRUE;
        finish(device, g_queue_pop_head(queue), -EPIPE, urb->moved);
        return TRUE;
    }
    if (fail_next[direction]) {
        finish(device, g_queue_pop_head(queue), fail_next[direction], urb->moved);
        fail_next[direction] = 0;
        return TRUE;
    }
    return FALSE;
}

static void hang_up(Device *device) {
    if (device->bridge < 0) return;
    /* Our other thread may be polling it, which alone would keep it open. */
    shutdown(device->bridge, SHUT_RDWR);
    close(device->bridge);
    device->bridge = -1;
}

/* Moves what can be moved between transfers and the bridge. */
static void pump(Device *device) {
    while (!g_queue_is_empty(&device->incoming)) {
        if (fails(device, &device->incoming, 0)) continue;
        Urb *urb = g_queue_peek_head(&device->incoming);
        int answered = MIN((int)device->answers->len, urb->urb->buffer_length);
        if (answered > 0) {
            memcpy(urb->buffer->data, device->answers->str, answered);
            g_string_erase(device->answers, 0, answered);
            finish(device, g_queue_pop_head(&device->incoming), 0, answered);
            continue;
        }
        if (device->bridge < 0) break;
        ssize_t bytes =
            recv(device->bridge, urb->buffer->data, urb->urb->buffer_length, MSG_DONTWAIT);
        if (bytes == 0 || (bytes < 0 && errno != EAGAIN)) hang_up(device);
        if (bytes <= 0) break;
        finish(device, g_queue_pop_head(&device->incoming), 0, bytes);
    }
    while (!is_held && !is_cut && !g_queue_is_empty(&device->outgoing)) {
        if (fails(device, &device->outgoing, 1)) continue;
        Urb *urb = g_queue_peek_head(&device->outgoing);
        int length = urb->urb->buffer_length;
        gboolean is_short = short_bytes >= 0 && short_bytes < length;
        if (is_short) length = short_bytes;
        while (urb->moved < length && device->bridge >= 0) {
            ssize_t bytes = send(device->bridge, urb->buffer->data + urb->moved,
                                 length - urb->moved, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (bytes < 0 && errno == EAGAIN) return;
            if (bytes <= 0) hang_up(device);
            else urb->moved += bytes;
        }
        finish(device, g_queue_pop_head(&device->outgoing), 0, length);
        if (is_short) {
            short_bytes = -1;
            is_cut = TRUE;
            unnoticed = urb;
            say("short");
        }
    }
}

static void connect_bridge(Device *device) {
    if (bridge_port == 0) return;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(bridge_port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        say("no head unit behind the bridge: %s", strerror(errno));
        close(fd);
        return;
    }
    device->bridge = fd;
    wake_up();
}

/* ---- plugging ------------------------------------------------------------------------ */

/* Device and configuration descriptors as /sys keeps them; returns hexadecimal digits. */
static char *descriptors(const Device *device) {
    gboolean is_openxc = device->vendor == 0x1bc4 && !device->is_old;
    guint8 class = 0xff, subclass = 0xff, protocol = 0;
    if (device->vendor == 0x2341) class = 0x0a, subclass = 0;               /* CDC data */
    if (device->vendor == 0x04e8) class = 0x06, subclass = 1, protocol = 1; /* PTP */
    if (device->vendor == 0x0781) class = 0x08, subclass = 6, protocol = 0x50; /* storage */
    guint8 in = is_openxc ? 0x82 : 0x81, out = is_openxc ? 0x05 : 0x02;
    guint8 bytes[] = {
        18, 1, 0, 2, 0, 0, 0, 64, device->vendor & 255, device->vendor >> 8,
        device->product & 255, device->product >> 8, 0, 1, 1, 2, device->serial[0] ? 3 : 0, 1,
        9, 2, 39, 0, 1, 1, 0, 0x80, 50,
        9, 4, 0, 0, 3, class, subclass, protocol, 0,
        7, 5, in, 2, 0, 2, 0, 7, 5, out, 2, 0, 2, 0, 7, 5, 0x8b, 2, 0, 2, 0,
    };
    GString *hex = g_string_new(NULL);
    for (size_t i = 0; i < sizeof bytes; i++) g_string_append_printf(hex, "%02x", bytes[i]);
    return g_string_free(hex, FALSE);
}

static gboolean on_ioctl(UMockdevIoctlBase *, UMockdevIoctlClient *, gpointer);

static void plug(Device *device) {
    g_autoptr(GError) error = NULL;
    last_number = last_number % 127 + 1;
    device->number = last_number;
    snprintf(device->node, sizeof device->node, "/dev/bus/usb/001/%03d", device->number);
    g_autofree char *root = umockdev_testbed_get_root_dir(bed);
    g_autofree char *path = g_strconcat(root, device->node, NULL);
    g_autofree char *directory = g_path_get_dirname(path);
    unlink(path);
    if (g_mkdir_with_parents(directory, 0755) != 0 || mkfifo(path, 0666) != 0)
        g_error("%s: %s", path, strerror(errno));
    device->fifo = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (device->fifo < 0 || fcntl(device->fifo, F_SETPIPE_SZ, 4096) < 0) g_error("FIFO");
    device->node_is_full = FALSE;
    device->bridge = -1;
    if (!device->answers) device->answers = g_string_new(NULL);
    g_string_truncate(device->answers, 0);
    device->halted[0] = device->halted[1] = FALSE;
    device->handler = umockdev_ioctl_base_new();
    g_signal_connect(device->handler, "handle-ioctl", G_CALLBACK(on_ioctl), device);
    if (!umockdev_testbed_attach_ioctl(bed, device->node, device->handler, &error))
        g_error("%s", error->message);

    g_autofree char *hex = descriptors(device);
    GString *text = g_string_new(NULL);
    g_string_append_printf(
        text,
        "P: /devices/usb1/%s\nE: SUBSYSTEM=usb\nE: DRIVER=usb\nE: BUSNUM=001\nE: DEVNUM=%03d\n"
        "E: DEVNAME=%s\nE: DEVTYPE=usb_device\nA: bConfigurationValue=1\\n\nA: busnum=1\\n\n"
        "A: devnum=%d\\n\nA: speed=480\\n\nA: idVendor=%04x\\n\nA: idProduct=%04x\\n\n"
        "A: product=%s\\n\nH: descriptors=%s\n",
        device->port, device->number, device->node, device->number, device->vendor,
        device->product,
        device->vendor == 0x1bc4 ? "OpenXC Vehicle Interface" : "Fake Phone", hex);
    if (device->serial[0]) g_string_append_printf(text, "A: serial=%s\\n\n", device->serial);
    /* The interface, with the driver it had when it was plugged in. */
    g_string_append_printf(
        text, "\nP: /devices/usb1/%s/%s:1.0\nE: SUBSYSTEM=usb\nE: DEVTYPE=usb_interface\n",
        device->port, device->port);
    if (driver[0])
        g_string_append_printf(text, "L: driver=../../../../bus/usb/drivers/%s\n", driver);
    g_mutex_lock(&lock);
    device->present = TRUE;
    set_ready(device);
    g_mutex_unlock(&lock);
    if (!umockdev_testbed_add_from_string(bed, text->str, &error)) g_error("%s", error->message);
    g_string_free(text, TRUE);
    say("plugged %s %04x:%04x as %d", device->port, device->vendor, device->product,
        device->number);
}

static void free_urb(gpointer data) {
    Urb *urb = data;
    umockdev_ioctl_data_unref(urb->buffer);
    umockdev_ioctl_data_unref(urb->argument);
    g_free(urb);
}

static void shut_down_transfers(Device *device) {
    GQueue *queues[] = {&device->incoming, &device->outgoing, &device->unanswered};
    for (int i = 0; i < 3; i++)
        for (Urb *urb; (urb = g_queue_pop_head(queues[i]));)
            finish(device, urb, -ESHUTDOWN, urb->moved);
}

static void unplug(Device *device) {
    g_mutex_lock(&lock);
    shut_down_transfers(device);
    device->present = FALSE;
    set_ready(device);
    hang_up(device);
    device->claimed = FALSE;
    /* A kernel keeps what has come back until it is reaped, or until its node is closed. */
    gint64 patience = g_get_monotonic_time() + 5 * G_USEC_PER_SEC;
    while (!g_queue_is_empty(&device->done))
        if (!g_cond_wait_until(&reaped, &lock, patience)) break;
    g_mutex_unlock(&lock);
    g_autofree char *path = g_strdup_printf("/sys/devices/usb1/%s", device->port);
    g_autofree char *interface = g_strdup_printf("%s/%s:1.0", path, device->port);
    umockdev_testbed_uevent(bed, path, "remove");
    umockdev_testbed_remove_device(bed, interface);
    umockdev_testbed_remove_device(bed, path);
    umockdev_testbed_detach_ioctl(bed, device->node, NULL);
    say("unplugged %s", device->port);
    g_mutex_lock(&lock);
    /* What the host has not fetched by now, it never saw. */
    for (Urb *urb; (urb = g_queue_pop_head(&device->done));) {
        count_moved(urb, -urb->urb->actual_length);
        free_urb(urb);
    }
    close(device->fifo);
    device->fifo = -1;
    g_mutex_unlock(&lock);
    g_clear_object(&device->handler);
}

/* ---- requests of libusb -------------------------------------------------------------- */

/* An OpenXC interface's answers to vendor requests, by firmware: bytes moved, or an error. */
static int openxc_control(Device *device, const guint8 *setup, guint8 *data, int length) {
    say("openxc request 0x%02x 0x%02x %d", setup[0], setup[1], length);
    gboolean asks = setup[0] == 0xc0, is_command = setup[0] == 0x40 && setup[1] == 0x83;
    if (asks && setup[1] == 0x80 && strcmp(firmware, "5") == 0)
        return snprintf((char *)data, length, "5.3.1 (fake)") + 1;
    if (asks && setup[1] == 0x80 && strcmp(firmware, "6") == 0)
        return snprintf((char *)data, length, "6.0.3 (fake)") + 1;
    if (asks && setup[1] == 0x82 && strcmp(firmware, "6") == 0)
        return snprintf((char *)data, length, "0012F3000006") + 1;
    gboolean asks_version = memmem(data, length, "version", 7) != NULL;
    if (is_command && strcmp(firmware, "7") == 0) {
        /* A command that is not in the format in force is thrown away. */
        if (data[0] == '{')
            g_string_append_printf(
                device->answers, "{\"command_response\":\"%s\",\"message\":\"%s\",\"status\":true}",
                asks_version ? "version" : "device_id",
                asks_version ? "8.2.1 (fake)" : "0012F3000007");
        if (data[0] == '{') g_string_append_c(device->answers, 0);
        return length;
    }
    if (is_command && strcmp(firmware, "7p") == 0) {
        static const guint8 version[] = {6, 8, 4, 0x2a, 2, 8, 1}, id[] = {6, 8, 4, 0x2a, 2, 8, 2};
        const char *answer = NULL;
        if (length == 7 && memcmp(data, version, 7) == 0)
            answer = "\x16\x08\x05\x32\x12\x08\x01\x12\x0c" "8.2.1 (fake)" "\x18\x01";
        if (length == 7 && memcmp(data, id, 7) == 0)
            answer = "\x16\x08\x05\x32\x12\x08\x02\x12\x0c" "0012F3000008" "\x18\x01";
        if (answer) g_string_append(device->answers, answer);
        return length;
    }
    return -EPIPE;
}

/* Android Open Accessory, the phone's side: bytes moved, or an error. */
static int control(Device *device, const guint8 *setup, guint8 *data, int length) {
    if (device->vendor == 0x1bc4) return openxc_control(device, setup, data, length);
    gboolean knows_aoa = device->vendor == 0x04e8 && strcmp(aoa_mode, "unsupported") != 0;
    if (!knows_aoa) return -EPIPE;
    if (setup[0] == 0xc0 && setup[1] == 51 && length >= 2) {
        data[0] = 2;
        data[1] = 0;
        return 2;
    }
    if (setup[0] == 0x40 && setup[1] == 52) {
        say("string %d %.*s", setup[4], length, data);
        return length;
    }
    if (setup[0] == 0x40 && setup[1] == 53) {
        say("start");
        if (strcmp(aoa_mode, "ignore") != 0) {
            returning = device;
            returns_at = g_get_monotonic_time() + 50 * 1000;
            wake_up();
        }
        return 0;
    }
    return -EPIPE;
}

static int submit(Device *device, UMockdevIoctlData *argument) {
    Urb *urb = g_new0(Urb, 1);
    urb->argument =
        umockdev_ioctl_data_resolve(argument, 0, sizeof(struct usbdevfs_urb), NULL);
    urb->urb = (struct usbdevfs_urb *)urb->argument->data;
    urb->buffer = umockdev_ioctl_data_resolve(
        urb->argument, G_STRUCT_OFFSET(struct usbdevfs_urb, buffer), urb->urb->buffer_length, NULL);
    if (urb->urb->type == USBDEVFS_URB_TYPE_CONTROL) {
        guint8 *setup = urb->buffer->data;
        if (device->vendor == 0x1bc4 && strcmp(firmware, "mute") == 0) {
            g_queue_push_tail(&device->unanswered, urb);
            return 0;
        }
        int moved = control(device, setup, setup + 8, setup[6] | setup[7] << 8);
        finish(device, urb, moved < 0 ? moved : 0, moved < 0 ? 0 : moved);
        wake_up();
        return 0;
    }
    g_queue_push_tail(urb->urb->endpoint & 0x80 ? &device->incoming : &device->outgoing, urb);
    /* A kernel sends it; here it is only told. */
    if (urb->urb->flags & USBDEVFS_URB_ZERO_PACKET && urb->urb->buffer_length % 512 == 0)
        say("empty packet after %d", urb->urb->buffer_length);
    pump(device);
    wake_up();
    return 0;
}

static int discard(Device *device, gulong address) {
    GQueue *queues[] = {&device->incoming, &device->outgoing, &device->unanswered};
    for (int i = 0; i < 3; i++)
        for (GList *link = queues[i]->head; link; link = link->next) {
            Urb *urb = link->data;
            if (urb->argument->client_addr != address) continue;
            g_queue_delete_link(queues[i], link);
            say("taken back %d of %d", urb->moved, urb->urb->buffer_length);
            finish(device, urb, -ENOENT, urb->moved);
            if (!unnoticed && g_queue_is_empty(&device->outgoing)) is_cut = FALSE;
            return 0;
        }
    return EINVAL;
}

static void clear_halt(Device *device, unsigned endpoint) {
    int direction = endpoint & 0x80 ? 0 : 1;
    say("clear-halt 0x%02x", endpoint);
    device->halted[direction] = FALSE;
    if (stalls[direction] >= 0) stalls[direction]--;
    wake_up();
}

static gboolean on_ioctl(UMockdevIoctlBase *base, UMockdevIoctlClient *client, gpointer data) {
    (void)base;
    Device *device = data;
    UMockdevIoctlData *argument = umockdev_ioctl_client_get_arg(client);
    int error = 0;
    g_mutex_lock(&lock);
    gulong request = umockdev_ioctl_client_get_request(client);
    switch (request) {
    case USBDEVFS_GET_CAPABILITIES: {
        UMockdevIoctlData *word = umockdev_ioctl_data_resolve(argument, 0, 4, NULL);
        *(guint32 *)word->data = USBDEVFS_CAP_ZERO_PACKET | USBDEVFS_CAP_NO_PACKET_SIZE_LIM |
                                 USBDEVFS_CAP_REAP_AFTER_DISCONNECT;
        umockdev_ioctl_data_unref(word);
        break;
    }
    case USBDEVFS_GETDRIVER: {
        if (!driver[0]) {
            error = ENODATA;
            break;
        }
        UMockdevIoctlData *answer =
            umockdev_ioctl_data_resolve(argument, 0, sizeof(struct usbdevfs_getdriver), NULL);
        strcpy(((struct usbdevfs_getdriver *)answer->data)->driver, driver);
        umockdev_ioctl_data_unref(answer);
        break;
    }
    case USBDEVFS_DISCONNECT_CLAIM:
        if (driver[0]) {
            say("detached %s", driver);
            g_strlcpy(detached, driver, sizeof detached);
            driver[0] = 0;
        }
        /* fall through */
    case USBDEVFS_CLAIMINTERFACE:
        error = !device->present ? ENODEV : is_busy ? EBUSY : 0;
        if (error) break;
        device->claimed = TRUE;
        connect_bridge(device);
        say("claimed %s", device->port);
        break;
    case USBDEVFS_RELEASEINTERFACE:
        if (device->claimed) say("released %s", device->port);
        device->claimed = FALSE;
        hang_up(device);
        error = device->present ? 0 : ENODEV;
        break;
    case USBDEVFS_CLEAR_HALT: {
        UMockdevIoctlData *word = umockdev_ioctl_data_resolve(argument, 0, 4, NULL);
        if (device->present) clear_halt(device, *(guint32 *)word->data);
        else error = ENODEV;
        umockdev_ioctl_data_unref(word);
        break;
    }
    case USBDEVFS_IOCTL: {
        /* What libusb asks for after a release: the driver back. */
        UMockdevIoctlData *asked =
            umockdev_ioctl_data_resolve(argument, 0, sizeof(struct usbdevfs_ioctl), NULL);
        if ((gulong)((struct usbdevfs_ioctl *)asked->data)->ioctl_code != USBDEVFS_CONNECT)
            error = ENOTTY;
        else if (!detached[0]) error = ENODATA;
        else {
            say("attached %s", detached);
            g_strlcpy(driver, detached, sizeof driver);
            detached[0] = 0;
        }
        umockdev_ioctl_data_unref(asked);
        break;
    }
    case USBDEVFS_RESET:
    case USBDEVFS_SETINTERFACE:
    case USBDEVFS_SETCONFIGURATION:
        error = device->present ? 0 : ENODEV;
        break;
    case USBDEVFS_SUBMITURB:
        error = device->present ? submit(device, argument) : ENODEV;
        break;
    case USBDEVFS_DISCARDURB:
        error = discard(device, *(gulong *)argument->data);
        break;
    case USBDEVFS_REAPURB:
    case USBDEVFS_REAPURBNDELAY: {
        Urb *urb = g_queue_pop_head(&device->done);
        set_ready(device);
        g_cond_broadcast(&reaped);
        if (!urb) {
            error = device->present ? EAGAIN : ENODEV;
            break;
        }
        UMockdevIoctlData *place = umockdev_ioctl_data_resolve(argument, 0, sizeof(void *), NULL);
        umockdev_ioctl_data_set_ptr(place, 0, urb->argument);
        umockdev_ioctl_client_complete(client, 0, 0);
        umockdev_ioctl_data_unref(place);
        if (urb == unnoticed) {
            unnoticed = NULL;
            is_cut = !g_queue_is_empty(&device->outgoing);
        }
        free_urb(urb);
        g_mutex_unlock(&lock);
        return TRUE;
    }
    default:
        g_mutex_unlock(&lock);
        return FALSE;
    }
    g_mutex_unlock(&lock);
    umockdev_ioctl_client_complete(client, error ? -1 : 0, error);
    return TRUE;
}

/* ---- commands ------------------------------------------------------------------------ */

static Device *at(const char *port) {
    for (int i = 0; i < MAXIMUM_DEVICES; i++)
        if (devices[i].present && strcmp(devices[i].port, port) == 0) return &devices[i];
    return NULL;
}

static const char *plug_new(const char *port, const char *kind, const char *serial) {
    Device *device = NULL;
    for (int i = 0; i < MAXIMUM_DEVICES && !device; i++)
        if (!devices[i].present && returning != &devices[i]) device = &devices[i];
    if (!device || at(port)) return "no room, or there is one already";
    g_strlcpy(device->port, port, sizeof device->port);
    g_strlcpy(device->serial, strcmp(serial, "-") == 0 ? "" : serial, sizeof device->serial);
    device->is_old = strcmp(kind, "openxc5") == 0;
    if (strcmp(kind, "openxc") == 0 || device->is_old) device->vendor = 0x1bc4, device->product = 1;
    else if (strcmp(kind, "phone") == 0) device->vendor = 0x04e8, device->product = 0x6860;
    else if (strcmp(kind, "accessory") == 0) device->vendor = 0x18d1, device->product = 0x2d00;
    else if (strcmp(kind, "board") == 0) device->vendor = 0x2341, device->product = 0x43;
    else if (strcmp(kind, "stick") == 0) device->vendor = 0x0781, device->product = 0x5567;
    else return "unknown kind";
    plug(device);
    return NULL;
}

static const char *obey(char *line) {
    char *word[4] = {"", "", "", ""};
    int count = 0;
    for (char *next = strtok(line, " \n"); next && count < 4; next = strtok(NULL, " \n"))
        word[count++] = next;
    int direction = strcmp(word[1], "out") == 0;
    gboolean yes = strcmp(word[1], "yes") == 0;
    if (strcmp(word[0], "plug") == 0 && count == 4) return plug_new(word[1], word[2], word[3]);
    if (strcmp(word[0], "unplug") == 0) {
        Device *device = at(word[1]);
        if (!device) return "nothing is plugged in there";
        unplug(device);
        return NULL;
    }
    g_mutex_lock(&lock);
    const char *problem = NULL;
    if (strcmp(word[0], "bridge") == 0) bridge_port = atoi(word[1]);
    else if (strcmp(word[0], "aoa") == 0) g_strlcpy(aoa_mode, word[1], sizeof aoa_mode);
    else if (strcmp(word[0], "openxc") == 0) g_strlcpy(firmware, word[1], sizeof firmware);
    else if (strcmp(word[0], "stall") == 0) stalls[direction] = atoi(word[2]);
    else if (strcmp(word[0], "short") == 0) short_bytes = atoi(word[1]);
    else if (strcmp(word[0], "fail") == 0)
        fail_next[direction] = strcmp(word[1], "overflow") == 0 ? -EOVERFLOW : -EPROTO;
    else if (strcmp(word[0], "hold") == 0) is_held = yes;
    else if (strcmp(word[0], "sleep") == 0) {
        for (int i = 0; i < MAXIMUM_DEVICES; i++)
            if (devices[i].present) shut_down_transfers(&devices[i]);
    } else if (strcmp(word[0], "busy") == 0) is_busy = yes;
    else if (strcmp(word[0], "note") == 0) say("note %s", word[1]);
    else if (strcmp(word[0], "driver") == 0)
        g_strlcpy(driver, strcmp(word[1], "-") == 0 ? "" : word[1], sizeof driver);
    else problem = "unknown command";
    for (int i = 0; i < MAXIMUM_DEVICES; i++)
        if (devices[i].present) pump(&devices[i]);
    g_mutex_unlock(&lock);
    return problem;
}

/* A phone that was told to start leaves, and comes back as it has been told. */
static void come_back(void) {
    Device *phone = returning;
    unplug(phone);
    returning = NULL;
    if (strcmp(aoa_mode, "leave") == 0) return;
    if (strcmp(aoa_mode, "accessory") == 0) phone->vendor = 0x18d1, phone->product = 0x2d00;
    plug(phone);
}

static void serve(int listener) {
    int client = -1;
    pid_t parent = getppid();
    char line[256];
    size_t filled = 0;
    for (;;) {
        struct pollfd polled[3 + MAXIMUM_DEVICES] = {
            {.fd = listener, .events = POLLIN},
            {.fd = client, .events = POLLIN},
            {.fd = wake[0], .events = POLLIN},
        };
        g_mutex_lock(&lock);
        for (int i = 0; i < MAXIMUM_DEVICES; i++) {
            Device *device = &devices[i];
            polled[3 + i].fd = device->present ? device->bridge : -1;
            polled[3 + i].events =
                (g_queue_is_empty(&device->incoming) ? 0 : POLLIN) |
                (g_queue_is_empty(&device->outgoing) || is_held || is_cut ? 0 : POLLOUT);
            if (polled[3 + i].events == 0) polled[3 + i].fd = -1;
        }
        gint64 rest = returning ? (returns_at - g_get_monotonic_time()) / 1000 + 1 : -1;
        g_mutex_unlock(&lock);
        /* Whoever has started it may be gone before it has connected. */
        if (!returning && client < 0) rest = 1000;
        poll(polled, 3 + MAXIMUM_DEVICES, returning && rest < 0 ? 0 : (int)rest);
        if (must_end || (client < 0 && getppid() != parent)) return;

        char bytes[64];
        while (read(wake[0], bytes, sizeof bytes) > 0) {}
        if (returning && g_get_monotonic_time() >= returns_at) come_back();
        g_mutex_lock(&lock);
        for (int i = 0; i < MAXIMUM_DEVICES; i++)
            if (devices[i].present) pump(&devices[i]);
        g_mutex_unlock(&lock);
        if (polled[0].revents && client < 0) client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0 || !polled[1].revents) continue;
        ssize_t count = read(client, line + filled, sizeof line - 1 - filled);
        if (count <= 0) return; /* the test is over */
        filled += count;
        line[filled] = 0;
        char *end;
        while ((end = strchr(line, '\n'))) {
            *end = 0;
            char copy[256];
            strcpy(copy, line);
            if (strcmp(copy, "count") == 0) {
                g_mutex_lock(&lock);
                dprintf(client, "ok %ld\n", finished);
                g_mutex_unlock(&lock);
            } else if (strcmp(copy, "moved") == 0) {
                g_mutex_lock(&lock);
                dprintf(client, "ok %ld %ld\n", moved_in, moved_out);
                g_mutex_unlock(&lock);
            } else if (strcmp(copy, "offered") == 0) {
                g_mutex_lock(&lock);
                guint offered = 0;
                for (int i = 0; i < MAXIMUM_DEVICES; i++)
                    if (devices[i].present)
                        offered += g_queue_get_length(&devices[i].incoming) +
                                   g_queue_get_length(&devices[i].done);
                dprintf(client, "ok %u\n", offered);
                g_mutex_unlock(&lock);
            } else {
                const char *problem = obey(copy);
                dprintf(client, problem ? "error %s\n" : "ok\n", problem);
            }
            filled -= end + 1 - line;
            memmove(line, end + 1, filled + 1);
        }
    }
}

/* Ends as when the test is over, so that what umockdev has made in /tmp is removed. */
static void on_signal(int number) {
    (void)number;
    must_end = 1;
    wake_up();
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: fake-usb-device CONTROL_SOCKET\n");
        return 2;
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    g_strlcpy(address.sun_path, argv[1], sizeof address.sun_path);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 1) != 0 || pipe2(wake, O_NONBLOCK | O_CLOEXEC) != 0) {
        perror(argv[1]);
        return 1;
    }
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    signal(SIGPIPE, SIG_IGN);
    bed = umockdev_testbed_new();
    for (int i = 0; i < MAXIMUM_DEVICES; i++) devices[i].fifo = devices[i].bridge = -1;
    g_autofree char *root = umockdev_testbed_get_root_dir(bed);
    /* libusb looks for both before anything is plugged in. */
    g_autofree char *nodes = g_strconcat(root, "/dev/bus/usb/001", NULL);
    g_mkdir_with_parents(nodes, 0755);
    say("UMOCKDEV_DIR=%s", root);
    serve(listener);
    for (int i = 0; i < MAXIMUM_DEVICES; i++)
        if (devices[i].present) unplug(&devices[i]);
    g_clear_object(&bed);
    return 0;
}
