/* A phone for tests, in plain C: a USB gadget of one FunctionFS function with two bulk endpoints, and a TCP port whose
 * bytes go through them and back. What relayd's gadget: is measured against, and what relayd's usb: links meet.
 *
 *   phone PORT [accessory]
 *
 * It answers Android Open Accessory's requests 51 to 53 and comes back as an accessory, or is one from the start. To the
 * host go four transfers of 16 KB at a time, from it come eight. It makes its gadget itself (root), and takes one
 * connection at a time; with SIGTERM it removes the gadget. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/usb/functionfs.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GADGET "/sys/kernel/config/usb_gadget/test-phone"
#define FUNCTION "/dev/test-phone"
enum { transfer_bytes = 16384, to_host_at_once = 4, from_host_at_once = 8 };

static int zero, in_endpoint, out_endpoint;
static volatile int peer = -1;
static char controller[256];

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void put(const char *name, const char *value) {
    char path[300];
    snprintf(path, sizeof path, GADGET "/%s", name);
    int file = open(path, O_WRONLY);
    if (file < 0 || write(file, value, strlen(value)) < 0) {
        if (strcmp(value, "\n")) fail(path);
    }
    if (file >= 0) close(file);
}

static void make(const char *path) {
    if (mkdir(path, 0755) && errno != EEXIST) fail(path);
}

/* The files and the controller are let go before the folders, or the kernel keeps them. */
static void undo(void) {
    put("UDC", "\n");
    unlink(GADGET "/configs/c.1/ffs.test-phone");
    rmdir(GADGET "/configs/c.1");
    umount2(FUNCTION, MNT_DETACH);
    rmdir(FUNCTION);
    rmdir(GADGET "/functions/ffs.test-phone");
    rmdir(GADGET "/strings/0x409");
    rmdir(GADGET);
}

static void compose(void) {
    make(GADGET);
    make(GADGET "/strings/0x409");
    make(GADGET "/configs/c.1");
    make(GADGET "/functions/ffs.test-phone");
    put("bcdUSB", "0x0200");
    put("strings/0x409/manufacturer", "Example");
    put("strings/0x409/product", "Phone");
    put("strings/0x409/serialnumber", "0123456789");
    if (symlink(GADGET "/functions/ffs.test-phone", GADGET "/configs/c.1/ffs.test-phone") && errno != EEXIST)
        fail("symlink");
    make(FUNCTION);
    if (mount("test-phone", FUNCTION, "functionfs", 0, NULL)) fail("mount");
    if ((zero = open(FUNCTION "/ep0", O_RDWR)) < 0) fail("ep0");
#define ENDPOINTS(low, high) 9, 4, 0, 0, 2, 255, 255, 0, 0, 7, 5, 0x81, 2, low, high, 0, 7, 5, 0x02, 2, low, high, 0
    static const unsigned char full[] = {ENDPOINTS(64, 0)}, fast[] = {ENDPOINTS(0, 2)};
    struct {
        struct usb_functionfs_descs_head_v2 head;
        __le32 full_count, fast_count;
        unsigned char full[sizeof full], fast[sizeof fast];
    } __attribute__((packed)) descriptors = {
        .head = {htole32(FUNCTIONFS_DESCRIPTORS_MAGIC_V2), htole32(sizeof descriptors),
            htole32(FUNCTIONFS_HAS_FS_DESC | FUNCTIONFS_HAS_HS_DESC | FUNCTIONFS_ALL_CTRL_RECIP)},
        .full_count = htole32(3), .fast_count = htole32(3)};
    memcpy(descriptors.full, full, sizeof full);
    memcpy(descriptors.fast, fast, sizeof fast);
    if (write(zero, &descriptors, sizeof descriptors) != sizeof descriptors) fail("descriptors");
    struct usb_functionfs_strings_head none = {htole32(FUNCTIONFS_STRINGS_MAGIC), htole32(sizeof none), 0, 0};
    if (write(zero, &none, sizeof none) != sizeof none) fail("strings");
    if ((in_endpoint = open(FUNCTION "/ep1", O_RDWR)) < 0) fail("ep1");
    if ((out_endpoint = open(FUNCTION "/ep2", O_RDWR)) < 0) fail("ep2");
    DIR *all = opendir("/sys/class/udc");
    for (struct dirent *one; all && (one = readdir(all));)
        if (one->d_name[0] != '.') snprintf(controller, sizeof controller, "%s", one->d_name);
    if (!*controller) fail("no controller");
}

static void appear(const char *product) {
    put("idVendor", "0x18d1");
    put("idProduct", product);
    put("UDC", controller);
    printf("on the bus as %s\n", product);
    fflush(stdout);
}

/* ---- the bulk endpoints ------------------------------------------------------------------- */

struct queue {
    aio_context_t context;
    struct iocb requests[from_host_at_once];
    unsigned char bytes[from_host_at_once][transfer_bytes];
    int endpoint, code;
};

static void begin(struct queue *q, int slot, int count) {
    struct iocb *request = &q->requests[slot];
    memset(request, 0, sizeof *request);
    request->aio_data = slot;
    request->aio_lio_opcode = q->code;
    request->aio_fildes = q->endpoint;
    request->aio_buf = (uintptr_t)q->bytes[slot];
    request->aio_nbytes = count;
    if (syscall(SYS_io_submit, q->context, 1L, &request) != 1) fail("io_submit");
}

static long ended(struct queue *q, int *slot) {
    struct io_event event;
    while (syscall(SYS_io_getevents, q->context, 1L, 1L, &event, NULL) != 1)
        if (errno != EINTR) fail("io_getevents");
    *slot = event.data;
    return event.res;
}

__attribute__((noreturn)) static void *to_host(void *nothing) {
    (void)nothing;
    static struct queue q = {.code = IOCB_CMD_PWRITE};
    q.endpoint = in_endpoint;
    if (syscall(SYS_io_setup, to_host_at_once, &q.context)) fail("io_setup");
    int used = 0, slot;
    for (;;) {
        int from = peer;
        if (from < 0) {
            usleep(1000);
            continue;
        }
        if (used < to_host_at_once) slot = used++;
        else if (ended(&q, &slot) < 0) usleep(1000);
        ssize_t count = recv(from, q.bytes[slot], transfer_bytes, 0);
        /* An empty packet: the buffer is used again afterwards. */
        begin(&q, slot, count > 0 ? count : 0);
        if (count <= 0) {
            __sync_bool_compare_and_swap(&peer, from, -1);
            close(from);
        }
    }
}

__attribute__((noreturn)) static void *from_host(void *nothing) {
    (void)nothing;
    static struct queue q = {.code = IOCB_CMD_PREAD};
    q.endpoint = out_endpoint;
    if (syscall(SYS_io_setup, from_host_at_once, &q.context)) fail("io_setup");
    for (int slot = 0; slot < from_host_at_once; slot++) begin(&q, slot, transfer_bytes);
    for (;;) {
        int slot;
        long count = ended(&q, &slot);
        for (long sent = 0; sent < count && peer >= 0;) {
            ssize_t some = send(peer, q.bytes[slot] + sent, count - sent, MSG_NOSIGNAL);
            if (some <= 0) break;
            sent += some;
        }
        begin(&q, slot, transfer_bytes);
    }
}

__attribute__((noreturn)) static void *take_peers(void *argument) {
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(argument)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(listener, (void *)&address, sizeof address) || listen(listener, 5)) fail("listen");
    for (;;) {
        int next = accept(listener, NULL, NULL);
        while (peer >= 0) usleep(1000);
        peer = next;
    }
}

/* ---- endpoint 0 --------------------------------------------------------------------------- */

static volatile int over;
static void end(int signal) { (void)signal; over = 1; }

int main(int count, char **arguments) {
    if (count < 2) return 64;
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    compose();
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, take_peers, arguments[1]);
    pthread_create(&thread, NULL, to_host, NULL);
    pthread_create(&thread, NULL, from_host, NULL);
    pthread_sigmask(SIG_UNBLOCK, &term, NULL);
    appear(count > 2 ? "0x2d00" : "0x4ee1");
    while (!over) {
        struct usb_functionfs_event event;
        if (read(zero, &event, sizeof event) != sizeof event || event.type != FUNCTIONFS_SETUP) continue;
        const struct usb_ctrlrequest *request = &event.u.setup;
        unsigned char bytes[256] = {2, 0};
        int length = le16toh(request->wLength);
        ssize_t done = -1;
        if (request->bRequestType == 0xC0 && request->bRequest == 51) done = write(zero, bytes, length < 2 ? length : 2);
        else if (request->bRequestType == 0x40 && request->bRequest == 52) done = read(zero, bytes, length & 255);
        else if (request->bRequestType == 0x40 && request->bRequest == 53 && read(zero, bytes, 0) == 0) {
            usleep(50000);
            put("UDC", "\n");
            usleep(300000);
            appear("0x2d00");
            done = 0;
        } else if (request->bRequestType & 0x80) done = read(zero, bytes, 0);
        else done = write(zero, bytes, 0);
        (void)done;
    }
    undo();
    return 0;
}
