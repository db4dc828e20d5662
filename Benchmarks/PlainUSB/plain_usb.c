/* The least program that moves bytes through libusb, to tell what the fake device and libusb cost
 * from what relayd costs. Built and started by RelayBenchmarks.
 *
 *     plain-usb BYTES TRANSFERS SECONDS IN OUT
 *
 * Opens the OpenXC interface, keeps TRANSFERS of BYTES each under way towards the host if IN is
 * yes, and sends OUT bytes per second to the device in transfers of BYTES (0: none; -1: TRANSFERS
 * of them under way all the time). Forgets what it reads. After SECONDS it prints bytes in, bytes
 * out, seconds, and seconds of processor time.
 */
#include <libusb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ENDPOINT_IN = 0x82, ENDPOINT_OUT = 0x05, MAXIMUM_TRANSFERS = 64 };

static long long bytes_in, bytes_out;
static int length, under_way, is_over, idle_count;
static double rate;
static struct libusb_transfer *idle[MAXIMUM_TRANSFERS];

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void check(int code, const char *what) {
    if (code >= 0) return;
    fprintf(stderr, "%s: %s\n", what, libusb_strerror(code));
    exit(1);
}

static void submit(struct libusb_transfer *transfer) {
    check(libusb_submit_transfer(transfer), "submit");
    under_way++;
}

static void came_back(struct libusb_transfer *transfer) {
    int is_in = transfer->endpoint == ENDPOINT_IN;
    under_way--;
    *(is_in ? &bytes_in : &bytes_out) += transfer->actual_length;
    if (is_over) return;
    if (transfer->status != LIBUSB_TRANSFER_COMPLETED) check(LIBUSB_ERROR_IO, "transfer");
    if (is_in || rate < 0) submit(transfer);
    else idle[idle_count++] = transfer;
}

static struct libusb_transfer *transfer(libusb_device_handle *handle, int endpoint) {
    struct libusb_transfer *made = libusb_alloc_transfer(0);
    libusb_fill_bulk_transfer(
        made, handle, endpoint, calloc(1, length), length, came_back, NULL, 0);
    return made;
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    length = atoi(argv[1]);
    int count = atoi(argv[2]);
    double seconds = atof(argv[3]);
    int reads = strcmp(argv[4], "yes") == 0;
    rate = atof(argv[5]);
    if (count > MAXIMUM_TRANSFERS) return 2;

    check(libusb_init(NULL), "init");
    libusb_device_handle *handle = libusb_open_device_with_vid_pid(NULL, 0x1bc4, 1);
    if (!handle) check(LIBUSB_ERROR_NO_DEVICE, "open");
    check(libusb_claim_interface(handle, 0), "claim");

    struct libusb_transfer *all[2 * MAXIMUM_TRANSFERS];
    int made = 0;
    for (int i = 0; i < count && reads; i++) submit(all[made++] = transfer(handle, ENDPOINT_IN));
    for (int i = 0; i < count && rate != 0; i++) {
        all[made] = transfer(handle, ENDPOINT_OUT);
        if (rate < 0) submit(all[made]);
        else idle[idle_count++] = all[made];
        made++;
    }
    double begin = now(CLOCK_MONOTONIC), used = now(CLOCK_PROCESS_CPUTIME_ID);
    double due = begin;
    for (;;) {
        double time = now(CLOCK_MONOTONIC);
        if (time - begin >= seconds) break;
        while (rate > 0 && idle_count > 0 && due <= time) {
            submit(idle[--idle_count]);
            due += length / rate;
        }
        double wait = begin + seconds - time;
        if (rate > 0 && due - time < wait) wait = due > time ? due - time : 0.001;
        struct timeval timeout = {.tv_sec = (long)wait};
        timeout.tv_usec = (long)((wait - timeout.tv_sec) * 1e6);
        check(libusb_handle_events_timeout_completed(NULL, &timeout, NULL), "events");
    }
    double took = now(CLOCK_MONOTONIC) - begin;
    printf("%lld %lld %f %f\n", bytes_in, bytes_out, took, now(CLOCK_PROCESS_CPUTIME_ID) - used);
    is_over = 1;
    for (int i = 0; i < made; i++) libusb_cancel_transfer(all[i]);
    while (under_way > 0) check(libusb_handle_events(NULL), "events");
    libusb_release_interface(handle, 0);
    libusb_close(handle);
    libusb_exit(NULL);
    return 0;
}
