/* A head unit for tests: a USB host that leads a phone into accessory mode and speaks SDL with it, through the real
 * libusb. It sends strings without a zero byte and transfers without an empty packet behind them, and reads 16 KB at
 * a time, as sdl_core does. It grants every session, and sends back every frame of service 7 as it came.
 *
 *   headunit ROUNDS FRAMES [WAY]
 *
 * In each round it finds the phone, or the accessory of the round before, serves it until so many frames have come,
 * and then pulls the cable (switches the port's power off and on again). Every tenth time it waits until the accessory has become a
 * phone again. WAY "reset" resets the device in place of pulling the cable; "hostile" pulls it, and sends requests
 * that no phone expects, of all lengths, before each dialogue and into each link, and halts the bulk endpoints.
 * "states" resets it after each step of the dialogue, a step a round; "plug" leaves it unplugged until it is a
 * phone again; "vanish" waits until somebody else takes it off the bus; "take" takes the accessory that it finds. "change", "lose" and "double" do so with one byte of each link, for the tests of the tests. A
 * line of counts for each link: what came, what was sent, empty packets, and bytes that are no SDL, of which there
 * must be none. Counted is what the kernel says of a transfer, also of one that the end of the link broke off. Tests/VM/links.py
 * reads the lines. With PHONE_VENDOR (hexadecimal) a phone has another vendor than Google. */
#include <libusb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { google = 0x18d1, accessory = 0x2d00, accessory_with_adb = 0x2d01, read_bytes = 16384, most_frame = 140000 };
static const char *const strings[] = {
    "SDL", "Core", "SmartDeviceLink Core Component USB", "1.0", "http://www.smartdevicelink.org", "N000000"};

static int phone_vendor = google;
static libusb_context *usb;
static libusb_device_handle *handle;
static unsigned char in_endpoint, out_endpoint;
static volatile int over;
/* 'c', 'l' or 'd' until the byte has been changed, lost or doubled. */
static int wrong;
/* When the first session of the link was granted, and when the cable was plugged in before; and on the way from one to
 * the other: the phone was found, had been told to start, was found as an accessory, was taken, and had said something. */
static double granted, plugged, found_at, led_at, back_at, taken_at, heard_at;
static long long in_bytes, out_bytes, frames, empty, garbage, sessions, unsent, partial;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("[%7.2f] head unit: ", now());
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
}

static void fail(const char *what, int code) {
    say("FAILED: %s: %s", what, code < 0 ? libusb_error_name(code) : "");
    exit(1);
}

/* The first device that is a phone or an accessory; NULL within the time if there is none. */
static libusb_device *find(int want_accessory, double seconds, int *is_accessory) {
    double end = now() + seconds;
    do {
        libusb_device **list;
        ssize_t count = libusb_get_device_list(usb, &list);
        libusb_device *found = NULL;
        for (ssize_t i = 0; i < count && !found; i++) {
            struct libusb_device_descriptor d;
            if (libusb_get_device_descriptor(list[i], &d)) continue;
            *is_accessory = d.idVendor == google && (d.idProduct == accessory || d.idProduct == accessory_with_adb);
            if (!*is_accessory && d.idVendor != phone_vendor) continue;
            if (want_accessory < 0 || want_accessory == *is_accessory) found = libusb_ref_device(list[i]);
        }
        libusb_free_device_list(list, 1);
        if (found) return found;
        usleep(20000);
    } while (now() < end);
    return NULL;
}

/* A device that has just appeared may be gone or not be set up yet. */
static int open_device(libusb_device *device) {
    int code = LIBUSB_ERROR_OTHER;
    for (int i = 0; i < 50 && (code = libusb_open(device, &handle)); i++) usleep(20000);
    return code;
}

/* What no phone expects. It may refuse whatever it likes, and must go on. */
static void annoy(void) {
    static unsigned char data[4096];
    static const struct { unsigned char type, request; unsigned short value, index, length; } odd[] = {
        {0xC0, 51, 0, 0, 0}, {0xC0, 51, 0, 0, 1}, {0xC0, 51, 9, 9, 4096}, {0x40, 51, 0, 0, 0}, {0xC0, 52, 0, 0, 2},
        {0x40, 52, 0, 0, 0}, {0x40, 52, 0, 7, 3}, {0x40, 52, 0, 65535, 1}, {0x40, 52, 0, 1, 256},
        {0x40, 52, 0, 1, 257}, {0x40, 52, 0, 1, 4096}, {0xC0, 53, 0, 0, 0}, {0x40, 53, 0, 0, 5},
        {0x40, 54, 1, 10, 0}, {0x40, 55, 1, 0, 0}, {0x40, 56, 1, 0, 8}, {0x40, 57, 1, 0, 8}, {0x40, 58, 1, 0, 0},
        {0x40, 59, 0, 0, 0}, {0x41, 52, 0, 0, 4}, {0xC1, 51, 0, 0, 2}, {0x21, 9, 0, 0, 1}, {0xA1, 1, 0, 0, 8},
        {0xC0, 255, 65535, 65535, 4096},
    };
    int refused = 0;
    for (unsigned i = 0; i < sizeof odd / sizeof odd[0]; i++)
        refused += libusb_control_transfer(
            handle, odd[i].type, odd[i].request, odd[i].value, odd[i].index, data, odd[i].length, 1000) < 0;
    say("of %zu odd requests %d were refused", sizeof odd / sizeof odd[0], refused);
}

/* Halts both bulk endpoints, and has them go on: SET_FEATURE(ENDPOINT_HALT), then libusb's clear. */
static void halt(void) {
    unsigned char endpoints[] = {in_endpoint, out_endpoint};
    for (int i = 0; i < 2; i++) {
        libusb_control_transfer(handle, 0x02, 3, 0, endpoints[i], NULL, 0, 1000);
        libusb_clear_halt(handle, endpoints[i]);
    }
}

/* Steps of a dialogue, for a head unit that resets the phone after one of them: found, asked, told each string,
 * started, found as an accessory, taken, and in traffic. */
enum { step_found, step_asked, step_told, step_started = step_told + 6, step_back, step_taken, step_traffic, steps };
static int reset_after = -1;

static int resets_after(int step) {
    if (step != reset_after) return 0;
    say("reset after step %d", step);
    reset_after = -1;
    libusb_reset_device(handle);
    return 1;
}

/* 0 also where it was broken off by a reset: then the phone is still one. */
static int lead_into_accessory_mode(libusb_device *device, int hostile) {
    int code = open_device(device);
    if (code) return code;
    if (hostile) annoy();
    unsigned char version[2] = {0, 0};
    int again = resets_after(step_found);
    if (!again) code = libusb_control_transfer(handle, 0xC0, 51, 0, 0, version, 2, 2000);
    if (code == 2) {
        static int told;
        int spoken = version[0] | version[1] << 8;
        if (told != spoken) say("the phone speaks version %d", told = spoken);
        if (spoken < 1) code = LIBUSB_ERROR_NOT_SUPPORTED;
    }
    again |= resets_after(step_asked);
    for (int i = 0; i < 6 && code >= 0 && !again; i++) {
        code = libusb_control_transfer(
            handle, 0x40, 52, 0, i, (unsigned char *)strings[i], strlen(strings[i]), 2000);
        again |= resets_after(step_told + i);
    }
    if (code >= 0 && !again) code = libusb_control_transfer(handle, 0x40, 53, 0, 0, NULL, 0, 2000);
    again |= code >= 0 && resets_after(step_started);
    libusb_close(handle);
    handle = NULL;
    return again ? LIBUSB_ERROR_NO_DEVICE : code < 0 ? code : 0;
}

/* The first endpoint of each direction, as sdl_core takes them. */
static int claim(libusb_device *device) {
    struct libusb_config_descriptor *configuration;
    int code = libusb_get_active_config_descriptor(device, &configuration);
    if (code) return code;
    in_endpoint = out_endpoint = 0;
    const struct libusb_interface_descriptor *first = configuration->interface[0].altsetting;
    for (int i = 0; i < first->bNumEndpoints; i++) {
        unsigned char address = first->endpoint[i].bEndpointAddress;
        if (address & 0x80) { if (!in_endpoint) in_endpoint = address; }
        else if (!out_endpoint) out_endpoint = address;
    }
    libusb_free_config_descriptor(configuration);
    return libusb_claim_interface(handle, 0);
}

/* ---- SDL ---------------------------------------------------------------------------------- */

static uint32_t big(const unsigned char *p) { return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }

static void send_bytes(unsigned char *bytes, int count) {
    while (count > 0 && !over) {
        int moved = 0, code = libusb_bulk_transfer(handle, out_endpoint, bytes, count, &moved, 500);
        if (moved < 0 || moved > count) fail("a count that cannot be", moved);
        out_bytes += moved;
        bytes += moved;
        count -= moved;
        if (code && code != LIBUSB_ERROR_TIMEOUT) { unsent += count; over = 1; }
    }
}

/* The frame, with its last byte wrong where the test wants so, once in a link. What is lost is counted as if it had
 * been sent, and what is doubled once. */
static void send_wrong(unsigned char *frame, int count) {
    static unsigned char twice[most_frame + 1];
    if (!wrong || count < 13) {
        send_bytes(frame, count);
        return;
    }
    memcpy(twice, frame, count);
    twice[count] = twice[count - 1];
    if (wrong == 'c') twice[count - 1] ^= 1;
    send_bytes(twice, count + (wrong == 'd') - (wrong == 'l'));
    out_bytes += (wrong == 'l') - (wrong == 'd');
    wrong = 0;
}

static void answer_frame(unsigned char *frame, int header, int size) {
    unsigned char type = frame[0] & 7, service = frame[1], info = frame[2];
    frames++;
    if (type == 0 && (info == 1 || info == 4)) {
        /* StartService is granted under version 3, EndService confirmed. */
        static unsigned char session = 0;
        unsigned char ack[16] = {0x30, service, info == 1 ? 2 : 5, frame[3], 0, 0, 0, info == 1 ? 4 : 0};
        if (info == 1 && !ack[3]) ack[3] = ++session ? session : ++session;
        ack[11] = 1;
        ack[15] = ack[3];
        if (info == 1 && !sessions++) granted = now();
        send_bytes(ack, info == 1 ? 16 : 12);
    } else if (type && service == 7) {
        send_wrong(frame, header + size);
    }
}

static unsigned char buffer[most_frame + read_bytes];

static void *serve(void *nothing) {
    (void)nothing;
    int have = 0;
    while (!over) {
        int moved = 0, code = libusb_bulk_transfer(handle, in_endpoint, buffer + have, read_bytes, &moved, 500);
        /* What came before the end counts: relayd cannot know of it, but the kernel at this end does. */
        in_bytes += moved;
        if (moved && !heard_at) heard_at = now();
        if (code && code != LIBUSB_ERROR_TIMEOUT) {
            partial += moved;
            break;
        }
        if (!code && !moved) empty++;
        have += moved;
        int at = 0;
        while (!over && have - at >= 8) {
            unsigned char *f = buffer + at;
            int version = f[0] >> 4, header = version == 1 ? 8 : 12;
            if (have - at < header) break;
            uint32_t size = big(f + 4);
            if (version < 1 || version > 5 || size > 131072) {
                if (!garbage) say("no SDL after %lld bytes: %02x %02x %02x %02x", in_bytes, f[0], f[1], f[2], f[3]);
                garbage += have - at;
                at = have;
                break;
            }
            if (have - at < header + (int)size) break;
            answer_frame(f, header, size);
            at += header + size;
        }
        memmove(buffer, buffer + at, have - at);
        have -= at;
    }
    over = 1;
    return NULL;
}

/* ---- the cable ---------------------------------------------------------------------------- */

static void set_port(int bus, int port, int off) {
    char path[200];
    snprintf(path, sizeof path, "/sys/bus/usb/devices/%d-0:1.0/usb%d-port%d/disable", bus, bus, port);
    FILE *file = fopen(path, "w");
    if (!file || fprintf(file, "%d", off) < 0 || fclose(file)) fail(path, 0);
}

int main(int count, char **arguments) {
    if (count < 3) return 64;
    int rounds = atoi(arguments[1]), enough = atoi(arguments[2]);
    int resets = count > 3 && !strcmp(arguments[3], "reset");
    int hostile = count > 3 && !strcmp(arguments[3], "hostile");
    int states = count > 3 && !strcmp(arguments[3], "states");
    int vanishes = count > 3 && !strcmp(arguments[3], "vanish");
    int plugs = count > 3 && !strcmp(arguments[3], "plug");
    int takes = count > 3 && !strcmp(arguments[3], "take");
    int wrongs = count > 3 && strchr("cld", arguments[3][0]) ? arguments[3][0] : 0;
    if (states) rounds = steps;
    if (getenv("PHONE_VENDOR")) phone_vendor = strtol(getenv("PHONE_VENDOR"), NULL, 16);
    int code = libusb_init(&usb);
    if (code) fail("libusb", code);
    long long total_in = 0, total_out = 0, total_frames = 0, total_unsent = 0;
    int led = 0, again = 0, armed = 0;
    for (int round = 1; round <= rounds; round++) {
        int is_accessory = 0, is_phone = 0;
        int is_armed = states && armed < round;
        if (is_armed) reset_after = (armed = round) - 1;
        double began = now();
        int wants_phone = takes ? 0 : states ? is_armed : round % 10 == 1;
        libusb_device *device = find(-1, 60, &is_accessory);
        if (device && wants_phone && is_accessory) {
            /* The kernel has configured the accessory already; it becomes a phone without its host. */
            int bus = libusb_get_bus_number(device), port = libusb_get_port_number(device);
            libusb_unref_device(device);
            set_port(bus, port, 1);
            usleep(5000000);
            plugged = now();
            set_port(bus, port, 0);
            device = find(0, 60, &is_accessory);
        }
        if (!device) fail("there is no phone", 0);
        found_at = led_at = back_at = now();
        int bus = libusb_get_bus_number(device), port = libusb_get_port_number(device);
        if (!is_accessory) {
            is_phone = 1;
            code = lead_into_accessory_mode(device, hostile);
            libusb_unref_device(device);
            if (code == LIBUSB_ERROR_NO_DEVICE && ++again < 100) {
                round--;
                continue;
            }
            if (code) fail("accessory mode", code);
            led++;
            led_at = now();
            device = find(1, 60, &is_accessory);
            if (!device) fail("the phone did not come back as an accessory", 0);
            back_at = now();
        }
        code = open_device(device);
        if (!code && (code = claim(device))) libusb_close(handle);
        if (code == LIBUSB_ERROR_NO_DEVICE || code == LIBUSB_ERROR_NOT_FOUND || code == LIBUSB_ERROR_IO) {
            /* It was just leaving: a head unit hears of the next one. */
            say("round %d again: %s", round, libusb_error_name(code));
            libusb_unref_device(device);
            if (++again > 100) fail("the accessory", code);
            round--;
            usleep(100000);
            continue;
        }
        if (code) fail("the accessory", code);
        if (resets_after(step_back) || resets_after(step_taken)) {
            libusb_close(handle);
            libusb_unref_device(device);
            round--;
            continue;
        }
        if (hostile) halt();
        over = 0;
        wrong = wrongs;
        in_bytes = out_bytes = frames = empty = sessions = unsent = partial = 0;
        pthread_t thread;
        granted = heard_at = 0;
        taken_at = now();
        pthread_create(&thread, NULL, serve, NULL);
        double open_after = now() - began;
        for (int i = 0; frames < enough / 2 && i < 6000 && !over; i++) usleep(10000);
        if (hostile) annoy();
        for (int i = 0; frames < enough && i < 6000 && !over; i++) usleep(10000);
        if (vanishes) {
            for (int i = 0; i < 12000 && !over; i++) usleep(10000);
            if (!over) fail("the phone did not vanish", 0);
        } else if (frames < enough) fail("too few frames came", 0);
        int resets_now = resets || resets_after(step_traffic);
        if (resets_now) {
            if (!states) code = libusb_reset_device(handle);
            if (code && code != LIBUSB_ERROR_NOT_FOUND) fail("reset", code);
        } else if (!vanishes) {
            set_port(bus, port, 1);
        }
        over = 1;
        /* A reset leaves a read that waits until its time is over: ended by force, it would take bytes with it. */
        pthread_join(thread, NULL);
        libusb_close(handle);
        handle = NULL;
        libusb_unref_device(device);
        say("round %d: open after %.2f s; in %lld bytes in %lld frames, %lld sessions, out %lld, empty packets %lld, "
            "garbage %lld, broken-off read %lld%s", round, open_after, in_bytes, frames, sessions, out_bytes, empty, garbage,
            partial, resets_now ? ", reset" : "");
        if (plugged)
            say("a session %.3f s after the plug, %s: found %.3f, led %.3f, back %.3f, taken %.3f, heard %.3f",
                granted - plugged, is_phone ? "as a phone" : "at once", found_at - plugged, led_at - plugged,
                back_at - plugged, taken_at - plugged, heard_at - plugged);
        plugged = 0;
        total_in += in_bytes;
        total_out += out_bytes;
        total_frames += frames;
        total_unsent += unsent;
        if (garbage) fail("bytes that are no SDL", 0);
        if (resets_now && round == rounds) set_port(bus, port, 1);
        if ((!resets_now || round == rounds) && !vanishes) {
            /* After the last one until it is a phone again: an accessory would have its next link at once, and
             * bytes on the way in it. */
            usleep(round < rounds && !plugs ? 100000 : 6000000);
            plugged = now();
            set_port(bus, port, 0);
        }
    }
    say("all: rounds %d, led into accessory mode %d, in %lld, out %lld, frames %lld, unsent %lld, garbage %lld", rounds, led,
        total_in, total_out, total_frames, total_unsent, garbage);
    return 0;
}
