#define _GNU_SOURCE
#include "plain_ends.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 12,
    SESSION_AT = 3,
    SIZE_AT = 4,
    MESSAGE_AT = 8,
    RPC_TYPE_AT = 12,
    CORRELATION_AT = 16,
    READ_BYTES = 256 << 10,
    PATIENCE_MS = 30000,
    /* How soon a thread sees that it is to stop. */
    LOOK_MS = 100,
};

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static uint32_t number_at(const uint8_t *bytes, size_t at) {
    uint32_t number;
    memcpy(&number, bytes + at, sizeof number);
    return ntohl(number);
}

static void put_number(uint8_t *bytes, size_t at, uint32_t number) {
    number = htonl(number);
    memcpy(bytes + at, &number, sizeof number);
}

static void set_receive_limit(int descriptor, int milliseconds) {
    struct timeval limit = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
    /* A tty has none. */
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

/* Waits until a descriptor that was not ready is; 0 or an errno. */
static int wait_for(int descriptor, short event, int milliseconds) {
    struct pollfd request = {.fd = descriptor, .events = event};
    int ready = poll(&request, 1, milliseconds);
    if (ready < 0 && errno != EINTR) return errno;
    return ready == 0 ? ETIMEDOUT : 0;
}

/* As write(2), but a peer that is gone costs no signal. */
static ssize_t write_quietly(int descriptor, const uint8_t *bytes, size_t count) {
    ssize_t written = send(descriptor, bytes, count, MSG_NOSIGNAL);
    /* A tty is none. */
    return written < 0 && errno == ENOTSOCK ? write(descriptor, bytes, count) : written;
}

static int write_all(int descriptor, const uint8_t *bytes, size_t count) {
    while (count > 0) {
        ssize_t written = write_quietly(descriptor, bytes, count);
        if (written >= 0) {
            bytes += written;
            count -= written;
            continue;
        }
        if (errno == EINTR) continue;
        if (errno != EAGAIN) return errno;
        int error = wait_for(descriptor, POLLOUT, PATIENCE_MS);
        if (error) return error;
    }
    return 0;
}

/* At least one byte; 0 or an errno. The end of the stream is ECONNRESET. */
static int read_some(int descriptor, uint8_t *bytes, size_t room, size_t *count) {
    for (;;) {
        ssize_t got = read(descriptor, bytes, room);
        if (got > 0) {
            *count = got;
            return 0;
        }
        if (got == 0) return ECONNRESET;
        if (errno == EINTR) continue;
        if (errno != EAGAIN) return errno;
        int error = wait_for(descriptor, POLLIN, PATIENCE_MS);
        if (error) return error;
    }
}

static int read_exactly(int descriptor, uint8_t *bytes, size_t count) {
    while (count > 0) {
        size_t got;
        int error = read_some(descriptor, bytes, count, &got);
        if (error) return error;
        bytes += got;
        count -= got;
    }
    return 0;
}

/* ---- a stream -------------------------------------------------------------------------- */

struct sender {
    int descriptor, is_request, error;
    uint8_t *bytes;
    size_t frame_bytes, count, total;
    atomic_int *stop;
};

static void *send_frames(void *argument) {
    struct sender *sender = argument;
    size_t next = 0;
    for (size_t sent = 0; sent < sender->total; sent++) {
        if (sender->stop && atomic_load_explicit(sender->stop, memory_order_relaxed)) break;
        uint8_t *frame = sender->bytes + next * sender->frame_bytes;
        put_number(frame, MESSAGE_AT, (uint32_t)sent + 1);
        if (sender->is_request) put_number(frame, CORRELATION_AT, ((uint32_t)sent + 1) & 0x7fffffff);
        sender->error = write_all(sender->descriptor, frame, sender->frame_bytes);
        if (sender->error) break;
        if (++next == sender->count) next = 0;
    }
    return NULL;
}

/* Starts the thread; `bytes` of the sender is freed by whoever joins it. */
static int start_sender(
    struct sender *sender, int descriptor, const struct plain_frames *frames, size_t total,
    atomic_int *stop, pthread_t *thread) {
    size_t bytes = frames->frame_bytes * frames->count;
    *sender = (struct sender){
        .descriptor = descriptor, .is_request = frames->are_requests, .bytes = malloc(bytes),
        .frame_bytes = frames->frame_bytes, .count = frames->count, .total = total, .stop = stop};
    if (!sender->bytes) return ENOMEM;
    memcpy(sender->bytes, frames->bytes, bytes);
    int error = pthread_create(thread, NULL, send_frames, sender);
    if (error) free(sender->bytes);
    return error;
}

int plain_stream(
    int source, int sink, const struct plain_frames *frames, size_t total, double *seconds) {
    uint8_t *buffer = malloc(READ_BYTES);
    if (!buffer) return ENOMEM;
    struct sender sender;
    pthread_t thread;
    int64_t start = now();
    int error = start_sender(&sender, source, frames, total, NULL, &thread);
    if (error) {
        free(buffer);
        return error;
    }
    size_t rest = total * frames->frame_bytes;
    while (rest > 0 && !error) {
        size_t got;
        error = read_some(sink, buffer, rest < READ_BYTES ? rest : READ_BYTES, &got);
        if (!error) rest -= got;
    }
    *seconds = (now() - start) * 1e-9;
    /* A sender that nobody reads ends by its own patience. */
    pthread_join(thread, NULL);
    free(sender.bytes);
    free(buffer);
    return error ? error : sender.error;
}

/* ---- frames in what was read ----------------------------------------------------------- */

struct inbox {
    uint8_t *bytes;
    size_t have;
};

/* Whole size of the frame at the front; 0 while its header is incomplete. Version 1 has no message ID. */
static size_t frame_size(const uint8_t *bytes, size_t have) {
    if (have < 8) return 0;
    size_t header = bytes[0] >> 4 == 1 ? 8 : HEADER_BYTES;
    return header + number_at(bytes, SIZE_AT);
}

/* ---- a head unit that answers ---------------------------------------------------------- */

struct plain_head_unit {
    pthread_t thread;
    int descriptor;
    atomic_int stop;
    struct plain_answers answers;
    uint8_t *response, *grant, *refusal;
    int granted;
    struct inbox inbox;
    uint8_t *out;
    size_t out_bytes, out_room;
};

static uint8_t *copy(const uint8_t *bytes, size_t count) {
    uint8_t *made = malloc(count ? count : 1);
    if (made && bytes) memcpy(made, bytes, count);
    return made;
}

static int say(struct plain_head_unit *unit, const uint8_t *bytes, size_t count) {
    if (unit->out_bytes + count > unit->out_room) {
        size_t room = (unit->out_bytes + count) * 2;
        uint8_t *grown = realloc(unit->out, room);
        if (!grown) return ENOMEM;
        unit->out = grown;
        unit->out_room = room;
    }
    memcpy(unit->out + unit->out_bytes, bytes, count);
    unit->out_bytes += count;
    return 0;
}

static int answer(struct plain_head_unit *unit, const uint8_t *frame, size_t size) {
    int type = frame[0] & 7, service = frame[1], info = frame[2];
    if (type == 0 && info == 1 && service == 7 && unit->answers.grant) {
        if (unit->granted >= unit->answers.sessions)
            return say(unit, unit->refusal, unit->answers.refusal_bytes);
        unit->grant[SESSION_AT] = ++unit->granted;
        return say(unit, unit->grant, unit->answers.grant_bytes);
    }
    int is_request = type == 1 && service == 7 && size >= CORRELATION_AT + 4
        && frame[RPC_TYPE_AT] >> 4 == 0;
    if (!is_request || !unit->answers.response) return 0;
    unit->response[SESSION_AT] = frame[SESSION_AT];
    memcpy(unit->response + CORRELATION_AT, frame + CORRELATION_AT, 4);
    return say(unit, unit->response, unit->answers.response_bytes);
}

/* Bytes of `inbox` that were looked at leave it. */
static int answer_all(struct plain_head_unit *unit) {
    size_t at = 0;
    int error = 0;
    while (!error) {
        size_t rest = unit->inbox.have - at;
        size_t size = frame_size(unit->inbox.bytes + at, rest);
        if (size == 0 || size > rest) break;
        error = answer(unit, unit->inbox.bytes + at, size);
        at += size;
    }
    unit->inbox.have -= at;
    if (at > 0) memmove(unit->inbox.bytes, unit->inbox.bytes + at, unit->inbox.have);
    return error;
}

static void *be_head_unit(void *argument) {
    struct plain_head_unit *unit = argument;
    while (!atomic_load_explicit(&unit->stop, memory_order_relaxed)) {
        ssize_t got = read(
            unit->descriptor, unit->inbox.bytes + unit->inbox.have, READ_BYTES - unit->inbox.have);
        if (got < 0) {
            if (errno != EAGAIN && errno != EINTR) break;
            wait_for(unit->descriptor, POLLIN, LOOK_MS);
            continue;
        }
        if (got == 0) break;
        unit->inbox.have += got;
        unit->out_bytes = 0;
        if (answer_all(unit)) break;
        if (write_all(unit->descriptor, unit->out, unit->out_bytes)) break;
    }
    return NULL;
}

static void free_head_unit(struct plain_head_unit *unit) {
    free(unit->response);
    free(unit->grant);
    free(unit->refusal);
    free(unit->inbox.bytes);
    free(unit->out);
    free(unit);
}

struct plain_head_unit *plain_head_unit_start(int descriptor, const struct plain_answers *answers) {
    struct plain_head_unit *unit = calloc(1, sizeof *unit);
    if (!unit) return NULL;
    unit->descriptor = descriptor;
    unit->answers = *answers;
    unit->response = copy(answers->response, answers->response_bytes);
    unit->grant = copy(answers->grant, answers->grant_bytes);
    unit->refusal = copy(answers->refusal, answers->refusal_bytes);
    unit->inbox.bytes = malloc(READ_BYTES);
    set_receive_limit(descriptor, LOOK_MS);
    if (!unit->response || !unit->grant || !unit->refusal || !unit->inbox.bytes
        || pthread_create(&unit->thread, NULL, be_head_unit, unit)) {
        free_head_unit(unit);
        return NULL;
    }
    return unit;
}

void plain_head_unit_stop(struct plain_head_unit *unit) {
    atomic_store(&unit->stop, 1);
    pthread_join(unit->thread, NULL);
    set_receive_limit(unit->descriptor, PATIENCE_MS);
    free_head_unit(unit);
}

/* ---- one app --------------------------------------------------------------------------- */

int plain_round_trips(
    int app, const uint8_t *request, size_t bytes, size_t count, int64_t *times) {
    uint8_t *sent = copy(request, bytes), *got = malloc(bytes);
    int error = sent && got ? 0 : ENOMEM;
    for (size_t index = 0; index < count && !error; index++) {
        put_number(sent, CORRELATION_AT, (uint32_t)index + 100);
        int64_t start = now();
        error = write_all(app, sent, bytes);
        if (!error) error = read_exactly(app, got, bytes);
        times[index] = now() - start;
        if (!error && memcmp(got + CORRELATION_AT, sent + CORRELATION_AT, 4)) error = EBADMSG;
    }
    free(sent);
    free(got);
    return error;
}

/* ---- many apps ------------------------------------------------------------------------- */

enum { CROWD_INBOX_BYTES = 16 << 10, IN_FLIGHT = 1024 };

/* One of them; its correlation IDs count its requests. */
struct asker {
    struct inbox inbox;
    uint32_t asked, answered;
    /* When its latest requests were due. */
    int64_t due[IN_FLIGHT];
};

struct crowd {
    const int *apps;
    size_t count, request_bytes, asked, answered;
    uint8_t *requests;
    struct asker *askers;
    int64_t *times;
    size_t capacity;
};

static int ask(struct crowd *crowd, int64_t due) {
    size_t index = crowd->asked++ % crowd->count;
    struct asker *asker = &crowd->askers[index];
    if (asker->asked - asker->answered >= IN_FLIGHT) return ENOBUFS;
    asker->due[asker->asked % IN_FLIGHT] = due;
    uint8_t *request = crowd->requests + index * crowd->request_bytes;
    put_number(request, CORRELATION_AT, ++asker->asked);
    return write_all(crowd->apps[index], request, crowd->request_bytes);
}

static void take(struct crowd *crowd, int64_t time) {
    if (crowd->answered < crowd->capacity) crowd->times[crowd->answered] = time;
    crowd->answered++;
}

static int hear(struct crowd *crowd, size_t index) {
    struct asker *asker = &crowd->askers[index];
    struct inbox *inbox = &asker->inbox;
    ssize_t got = recv(
        crowd->apps[index], inbox->bytes + inbox->have, CROWD_INBOX_BYTES - inbox->have,
        MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN || errno == EINTR ? 0 : errno;
    if (got == 0) return ECONNRESET;
    inbox->have += got;
    int64_t moment = now();
    size_t at = 0;
    for (;;) {
        size_t size = frame_size(inbox->bytes + at, inbox->have - at);
        if (size == 0 || size > inbox->have - at) break;
        const uint8_t *frame = inbox->bytes + at;
        at += size;
        if (size < CORRELATION_AT + 4 || frame[1] != 7 || frame[RPC_TYPE_AT] >> 4 != 1) continue;
        /* In order, as they were asked. */
        if (number_at(frame, CORRELATION_AT) != asker->answered + 1) return EBADMSG;
        take(crowd, moment - asker->due[asker->answered++ % IN_FLIGHT]);
    }
    inbox->have -= at;
    if (at > 0) memmove(inbox->bytes, inbox->bytes + at, inbox->have);
    return 0;
}

static int run_crowd(struct crowd *crowd, int events, double per_second, double seconds) {
    double interval = 1e9 / (per_second * crowd->count);
    size_t wanted = seconds * per_second * crowd->count;
    int64_t start = now(), end = start + (int64_t)((seconds + 2) * 1e9);
    struct epoll_event ready[64];
    while (crowd->answered < wanted) {
        int64_t moment = now();
        if (moment >= end) break;
        int64_t due = end;
        while (crowd->asked < wanted
            && (due = start + (int64_t)(crowd->asked * interval)) <= moment) {
            int error = ask(crowd, due);
            if (error) return error;
        }
        if (crowd->asked == wanted) due = end;
        int64_t wait = due > moment ? due - moment : 0;
        struct timespec limit = {.tv_sec = wait / 1000000000, .tv_nsec = wait % 1000000000};
        int count = epoll_pwait2(events, ready, 64, &limit, NULL);
        if (count < 0 && errno != EINTR) return errno;
        for (int index = 0; index < count; index++) {
            int error = hear(crowd, ready[index].data.u64);
            if (error) return error;
        }
    }
    int64_t moment = now();
    for (size_t index = 0; index < crowd->count; index++) {
        struct asker *asker = &crowd->askers[index];
        while (asker->answered < asker->asked)
            take(crowd, moment - asker->due[asker->answered++ % IN_FLIGHT]);
    }
    return 0;
}

int plain_crowd(
    const int *apps, size_t count, const uint8_t *requests, size_t request_bytes, double per_second,
    double seconds, int64_t *times, size_t capacity, size_t *taken) {
    struct crowd crowd = {
        .apps = apps, .count = count, .request_bytes = request_bytes, .times = times,
        .capacity = capacity, .requests = copy(requests, count * request_bytes),
        .askers = calloc(count, sizeof(struct asker))};
    uint8_t *inboxes = malloc(count * CROWD_INBOX_BYTES);
    int events = epoll_create1(EPOLL_CLOEXEC);
    int error = crowd.requests && crowd.askers && inboxes && events >= 0 ? 0 : ENOMEM;
    for (size_t index = 0; index < count && !error; index++) {
        crowd.askers[index].inbox.bytes = inboxes + index * CROWD_INBOX_BYTES;
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = index};
        if (epoll_ctl(events, EPOLL_CTL_ADD, apps[index], &event)) error = errno;
    }
    if (!error) error = run_crowd(&crowd, events, per_second, seconds);
    *taken = crowd.answered < capacity ? crowd.answered : capacity;
    if (events >= 0) close(events);
    free(crowd.requests);
    free(crowd.askers);
    free(inboxes);
    return error;
}

/* ---- an app that stops reading --------------------------------------------------------- */

struct reader {
    pthread_t thread;
    int descriptor;
    atomic_int stop;
    atomic_llong longest, last, bytes;
};

static void note_gap(struct reader *reader, int64_t moment) {
    int64_t gap = moment - atomic_load_explicit(&reader->last, memory_order_relaxed);
    if (gap > atomic_load_explicit(&reader->longest, memory_order_relaxed))
        atomic_store_explicit(&reader->longest, gap, memory_order_relaxed);
}

static void *read_on(void *argument) {
    struct reader *reader = argument;
    uint8_t *buffer = malloc(READ_BYTES);
    while (buffer && !atomic_load_explicit(&reader->stop, memory_order_relaxed)) {
        ssize_t got = read(reader->descriptor, buffer, READ_BYTES);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) break;
        if (got < 0) continue;
        int64_t moment = now();
        note_gap(reader, moment);
        atomic_store_explicit(&reader->last, moment, memory_order_relaxed);
        atomic_fetch_add_explicit(&reader->bytes, got, memory_order_relaxed);
    }
    free(buffer);
    return NULL;
}

static int start_reader(struct reader *reader, int descriptor) {
    set_receive_limit(descriptor, LOOK_MS);
    reader->descriptor = descriptor;
    atomic_store(&reader->last, now());
    return pthread_create(&reader->thread, NULL, read_on, reader);
}

static void stop_reader(struct reader *reader) {
    atomic_store(&reader->stop, 1);
    pthread_join(reader->thread, NULL);
}

static void sleep_for(double seconds) {
    struct timespec time = {.tv_sec = seconds, .tv_nsec = (seconds - (int64_t)seconds) * 1e9};
    nanosleep(&time, NULL);
}

int plain_flood(
    int head_unit, int first, int second, const struct plain_frames *frames, double seconds,
    struct plain_gaps *gaps) {
    struct reader reads = {0}, stops = {0};
    struct sender sender;
    atomic_int stop = 0;
    pthread_t thread;
    int error = start_reader(&reads, first);
    if (error) return error;
    error = start_reader(&stops, second);
    if (error) {
        stop_reader(&reads);
        return error;
    }
    error = start_sender(&sender, head_unit, frames, SIZE_MAX, &stop, &thread);
    if (error) {
        stop_reader(&reads);
        stop_reader(&stops);
        return error;
    }
    /* Buffers and windows grow to their size first. */
    sleep_for(seconds / 2);
    for (int half = 0; half < 2; half++) {
        if (half == 1) stop_reader(&stops);
        uint64_t before = atomic_load(&reads.bytes);
        atomic_store(&reads.longest, 0);
        sleep_for(half == 0 ? seconds / 2 : seconds);
        if (half == 1) note_gap(&reads, now());
        gaps->longest[half] = atomic_load(&reads.longest);
        gaps->bytes[half] = atomic_load(&reads.bytes) - before;
    }
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    stop_reader(&reads);
    free(sender.bytes);
    return sender.error;
}

/* ---- apps that all connect at once ------------------------------------------------------ */

enum { CONNECT_INBOX_BYTES = 4 << 10 };

struct newcomer {
    int descriptor, has_asked, is_done;
    size_t have;
    uint8_t *bytes;
};

static int begin_connecting(uint16_t port) {
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -1;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) && errno != EINPROGRESS) {
        int error = errno;
        close(descriptor);
        errno = error;
        return -1;
    }
    return descriptor;
}

static void leave(struct newcomer *app, size_t *count) {
    app->is_done = 1;
    ++*count;
}

/* What came for one that has asked. */
static void hear_newcomer(struct newcomer *app, struct plain_connects *connects, int64_t start) {
    ssize_t got = recv(
        app->descriptor, app->bytes + app->have, CONNECT_INBOX_BYTES - app->have, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return leave(app, got == 0 ? &connects->closed : &connects->reset);
    app->have += got;
    size_t at = 0, size;
    while (!app->is_done && (size = frame_size(app->bytes + at, app->have - at)) > 0
        && size <= app->have - at) {
        const uint8_t *frame = app->bytes + at;
        at += size;
        if ((frame[0] & 7) != 0) continue;
        if (frame[2] == 2) {
            connects->served_after[connects->served] = now() - start;
            leave(app, &connects->served);
        } else if (frame[2] == 3) {
            leave(app, &connects->refused);
        }
    }
    app->have -= at;
    memmove(app->bytes, app->bytes + at, app->have);
}

static int watch_newcomers(
    struct newcomer *apps, size_t count, int events, const uint8_t *start_frame,
    size_t start_bytes, double patience, int64_t start, struct plain_connects *connects) {
    struct epoll_event ready[64];
    int64_t end = start + (int64_t)(patience * 1e9);
    size_t done = 0;
    while (done < count && now() < end) {
        int got = epoll_wait(events, ready, 64, LOOK_MS);
        if (got < 0 && errno != EINTR) return errno;
        for (int index = 0; index < got; index++) {
            struct newcomer *app = &apps[ready[index].data.u64];
            if (app->is_done) continue;
            if (!app->has_asked) {
                app->has_asked = 1;
                ssize_t sent = send(app->descriptor, start_frame, start_bytes, MSG_NOSIGNAL);
                struct epoll_event event = {.events = EPOLLIN, .data = ready[index].data};
                if (sent != (ssize_t)start_bytes) leave(app, &connects->reset);
                else if (epoll_ctl(events, EPOLL_CTL_MOD, app->descriptor, &event)) return errno;
            } else {
                hear_newcomer(app, connects, start);
            }
            if (app->is_done) {
                epoll_ctl(events, EPOLL_CTL_DEL, app->descriptor, NULL);
                done++;
            }
        }
    }
    connects->silent = count - done;
    return 0;
}

int plain_connect_all(
    uint16_t port, size_t count, const uint8_t *start_frame, size_t start_bytes, double patience,
    struct plain_connects *connects) {
    struct newcomer *apps = calloc(count, sizeof *apps);
    uint8_t *inboxes = malloc(count * CONNECT_INBOX_BYTES);
    int events = epoll_create1(EPOLL_CLOEXEC);
    int error = apps && inboxes && events >= 0 ? 0 : ENOMEM;
    int64_t start = now();
    size_t begun = 0;
    for (; begun < count && !error; begun++) {
        apps[begun].bytes = inboxes + begun * CONNECT_INBOX_BYTES;
        apps[begun].descriptor = begin_connecting(port);
        struct epoll_event event = {.events = EPOLLOUT, .data.u64 = begun};
        if (apps[begun].descriptor < 0
            || epoll_ctl(events, EPOLL_CTL_ADD, apps[begun].descriptor, &event))
            error = errno;
    }
    if (!error)
        error = watch_newcomers(
            apps, count, events, start_frame, start_bytes, patience, start, connects);
    for (size_t index = 0; index < begun; index++)
        if (apps[index].descriptor >= 0) close(apps[index].descriptor);
    if (events >= 0) close(events);
    free(apps);
    free(inboxes);
    return error;
}

/* ---- what else runs -------------------------------------------------------------------- */

enum { LOAD_WORDS = 1 << 20, MOST_LOADS = 64 };

struct plain_load {
    atomic_int stop;
    int threads;
    pthread_t ids[MOST_LOADS];
};

static void *compute(void *argument) {
    struct plain_load *load = argument;
    uint64_t *memory = calloc(LOAD_WORDS, sizeof *memory);
    uint64_t state = 88172645463325252ULL;
    while (memory && !atomic_load_explicit(&load->stop, memory_order_relaxed)) {
        for (int step = 0; step < 10000; step++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            memory[state % LOAD_WORDS] += state;
        }
    }
    free(memory);
    return NULL;
}

struct plain_load *plain_load_start(int threads) {
    struct plain_load *load = calloc(1, sizeof *load);
    if (!load) return NULL;
    while (load->threads < threads && load->threads < MOST_LOADS
        && !pthread_create(&load->ids[load->threads], NULL, compute, load))
        load->threads++;
    return load;
}

void plain_load_stop(struct plain_load *load) {
    atomic_store(&load->stop, 1);
    for (int index = 0; index < load->threads; index++) pthread_join(load->ids[index], NULL);
    free(load);
}
