/* How fast SDL frames of 16 KB go from an app to a head unit ("up") or back ("down"): both ends of that, in plain C.
 *
 *   speed app PORT WAY SECONDS     an app, which starts a session and then sends, or takes
 *   speed usb WAY SECONDS          a head unit at a USB accessory, eight transfers of 16 KB at a time
 *   speed tcp PORT WAY SECONDS     a head unit behind Tests/VM/phone
 *   speed gauge SECONDS            how much processor time the same work takes, all the while
 *
 * The end that takes says how many bytes came in a second, from the first to the last, and how many came in all. Frames
 * are of service 11, video, into which no relay looks. */
#include <arpa/inet.h>
#include <libusb.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { frame_bytes = 16384, at_once = 8 };

static double clock_of(clockid_t which) {
    struct timespec t;
    clock_gettime(which, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static double now(void) { return clock_of(CLOCK_MONOTONIC); }

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void fill(unsigned char *frame, unsigned char session) {
    const unsigned char header[12] = {0x31, 11, 0, session, 0, 0, (frame_bytes - 12) >> 8, (frame_bytes - 12) & 255, 0, 0, 0, 1};
    memset(frame, 0x5A, frame_bytes);
    memcpy(frame, header, sizeof header);
}

/* What has come, from the first byte that is counted to the last. */
static double first, last;
static long long taken, first_bytes;

static void took(long count) {
    last = now();
    if (first) {
        taken += count;
    } else {
        first = last;
        first_bytes = count;
    }
}

static void report(void) {
    if (last <= first) exit(1);
    printf("%.3f MB/s, %.3f MB\n", taken / 1e6 / (last - first), (taken + first_bytes) / 1e6);
}

/* An emulated machine that the real one gives no processor to takes its own time for used. So a little work is done
 * ten times a second, and the mean of what it seems to take tells how much of the machine was there. */
static int gauge(double seconds) {
    double spent = 0;
    long times = 0;
    for (double end = now() + seconds; now() < end; usleep(100000)) {
        double began = clock_of(CLOCK_THREAD_CPUTIME_ID);
        for (volatile uint32_t i = 0; i < 200000; i++) {}
        spent += clock_of(CLOCK_THREAD_CPUTIME_ID) - began;
        times++;
    }
    printf("%.3f ms\n", spent * 1000 / times);
    return 0;
}

/* ---- over TCP ----------------------------------------------------------------------------- */

static int dial(const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(port)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (double end = now() + 60; now() < end; usleep(50000)) {
        int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;
        setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (!connect(s, (struct sockaddr *)&address, sizeof address)) return s;
        close(s);
    }
    fail("connect");
    return -1;
}

static void send_all(int s, const unsigned char *bytes, size_t count) {
    while (count > 0) {
        ssize_t some = send(s, bytes, count, MSG_NOSIGNAL);
        if (some <= 0) fail("send");
        bytes += some;
        count -= some;
    }
}

static void receive_all(int s, unsigned char *bytes, size_t count) {
    if (recv(s, bytes, count, MSG_WAITALL) != (ssize_t)count) fail("receive");
}

static void send_frames(int s, unsigned char session, double seconds) {
    static unsigned char frame[frame_bytes];
    fill(frame, session);
    for (double end = now() + seconds; now() < end;) send_all(s, frame, sizeof frame);
}

static void take_frames(int s, double seconds) {
    static unsigned char bytes[65536];
    struct timeval patience = {.tv_sec = 2};
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    for (double end = now() + 10 + seconds; now() < end && (!first || now() < first + seconds);) {
        ssize_t count = recv(s, bytes, sizeof bytes, 0);
        if (count > 0) took(count);
        else if (first) break;
    }
    report();
}

static const unsigned char start[8] = {0x10, 7, 1};

/* What comes before it is what an app before this one has left behind. */
static void await_start(int s) {
    unsigned char latest[sizeof start];
    receive_all(s, latest, sizeof latest);
    while (memcmp(latest, start, sizeof start)) {
        memmove(latest, latest + 1, sizeof latest - 1);
        receive_all(s, latest + sizeof latest - 1, 1);
    }
}

static int ask_for_session(int s) {
    static unsigned char rest[70000];
    send_all(s, start, sizeof start);
    for (;;) {
        unsigned char header[12];
        receive_all(s, header, 8);
        if (header[0] >> 4 > 1) receive_all(s, header + 8, 4);
        uint32_t size = (uint32_t)header[4] << 24 | header[5] << 16 | header[6] << 8 | header[7];
        if (size > sizeof rest) fail("a frame that is too long");
        receive_all(s, rest, size);
        if (!(header[0] & 7) && header[2] == 2) return header[3];
        if (!(header[0] & 7) && header[2] == 3) fail("refused");
    }
}

static const unsigned char granted[16] = {0x30, 7, 2, 1, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 1};

/* ---- over USB ----------------------------------------------------------------------------- */

static libusb_device_handle *accessory;
static unsigned char in_endpoint, out_endpoint;
static int under_way, over;

static void taken_by_usb(struct libusb_transfer *transfer) {
    under_way--;
    if (transfer->status != LIBUSB_TRANSFER_COMPLETED) over = 1;
    else if (transfer->endpoint == in_endpoint && transfer->actual_length > 0) took(transfer->actual_length);
    if (!over && !libusb_submit_transfer(transfer)) under_way++;
}

static void open_accessory(void) {
    for (double end = now() + 60; now() < end && !accessory; usleep(20000))
        accessory = libusb_open_device_with_vid_pid(NULL, 0x18d1, 0x2d00);
    struct libusb_config_descriptor *configuration;
    if (!accessory || libusb_get_active_config_descriptor(libusb_get_device(accessory), &configuration))
        fail("no accessory");
    for (int i = 0; i < 2; i++) {
        unsigned char address = configuration->interface[0].altsetting[0].endpoint[i].bEndpointAddress;
        *(address & 0x80 ? &in_endpoint : &out_endpoint) = address;
    }
    libusb_free_config_descriptor(configuration);
    if (libusb_claim_interface(accessory, 0)) fail("claim");
}

static void be_usb(int up, double seconds) {
    static unsigned char bytes[at_once][frame_bytes];
    int moved = 0;
    if (libusb_init(NULL)) fail("libusb");
    open_accessory();
    do {
        if (libusb_bulk_transfer(accessory, in_endpoint, bytes[0], frame_bytes, &moved, 60000)) fail("StartService");
    } while (moved < 8);
    memcpy(bytes[1], granted, sizeof granted);
    if (libusb_bulk_transfer(accessory, out_endpoint, bytes[1], sizeof granted, &moved, 10000)) fail("the answer");
    for (int i = 0; i < at_once; i++) {
        struct libusb_transfer *transfer = libusb_alloc_transfer(0);
        fill(bytes[i], 1);
        libusb_fill_bulk_transfer(transfer, accessory, up ? in_endpoint : out_endpoint, bytes[i], frame_bytes,
            taken_by_usb, NULL, 10000);
        if (libusb_submit_transfer(transfer)) fail("submit");
        under_way++;
    }
    struct timeval slice = {.tv_usec = 100000};
    for (double end = now() + seconds + (up ? 10 : 0); now() < end && (!first || now() < first + seconds);)
        libusb_handle_events_timeout(NULL, &slice);
    over = 1;
    if (up) report();
    /* Transfers that wait are ended with the process. */
    _exit(0);
}

int main(int count, char **arguments) {
    if (count == 3 && !strcmp(arguments[1], "gauge")) return gauge(atof(arguments[2]));
    if (count < 4) return 64;
    int is_usb = !strcmp(arguments[1], "usb");
    int up = !strcmp(arguments[count - 2], "up");
    double seconds = atof(arguments[count - 1]);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (is_usb) be_usb(up, seconds);
    int s = dial(arguments[2]);
    if (!strcmp(arguments[1], "app")) {
        int session = ask_for_session(s);
        if (up) send_frames(s, session, seconds);
        else take_frames(s, seconds);
    } else {
        await_start(s);
        send_all(s, granted, sizeof granted);
        if (up) take_frames(s, seconds);
        else send_frames(s, 1, seconds);
    }
    return 0;
}
