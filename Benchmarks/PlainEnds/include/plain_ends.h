/* The two ends of a relay, in plain C and as cheap as can be: on a machine with two processors, what the
 * ends cost hides what the relay costs. Used by RelayBenchmarks, which starts the relay, registers the
 * apps and hands over connected descriptors.
 *
 * Frames are made by the caller and travel as they are, but for session, message ID and correlation ID,
 * which are written into them (protocol versions 2 to 5, header of 12 bytes). Descriptors may block or
 * not; a tty's should not. Functions return 0 or an errno; ETIMEDOUT after 30 s without a byte.
 */
#ifndef RELAY_PLAIN_ENDS_H
#define RELAY_PLAIN_ENDS_H

#include <stddef.h>
#include <stdint.h>

/* Some frames of one size, one behind the other, as they travel. */
struct plain_frames {
    const uint8_t *bytes;
    size_t frame_bytes;
    size_t count;
    /* Each frame is an RPC request and gets a correlation ID of its own. */
    int are_requests;
};

/* Writes `total` frames one by one, in turn, with a new message ID each, from a thread of its own, and
 * reads all of their bytes. seconds: from before the first write until after the last read. */
int plain_stream(
    int source, int sink, const struct plain_frames *frames, size_t total, double *seconds);

/* ---- a head unit that answers ---------------------------------------------------------- */

/* What it says, as it travels. A null pointer: nothing. */
struct plain_answers {
    /* To an RPC request; session and correlation ID are put in. */
    const uint8_t *response;
    size_t response_bytes;
    /* To a StartService: the grant of the next session from 1 on, and from `sessions` on the refusal. */
    const uint8_t *grant;
    size_t grant_bytes;
    const uint8_t *refusal;
    size_t refusal_bytes;
    int sessions;
};

struct plain_head_unit;

/* Starts a thread that reads everything and answers, all that one read brought in one write. Answers are
 * copied. Null when it cannot. */
struct plain_head_unit *plain_head_unit_start(int descriptor, const struct plain_answers *answers);

/* Returns when the thread has ended, which takes up to 100 ms. The descriptor stays open. */
void plain_head_unit_stop(struct plain_head_unit *head_unit);

/* ---- apps ------------------------------------------------------------------------------ */

/* One request in flight, `count` times one after the other. The request is an RPC request, whose answer
 * must have as many bytes and the same correlation ID (EBADMSG). times: nanoseconds of each. */
int plain_round_trips(
    int app, const uint8_t *request, size_t bytes, size_t count, int64_t *times);

/* Many apps, each asking so often a second whether it has its answer or not; their requests are spread
 * evenly. requests: one for each app, one behind the other. times: nanoseconds of each request from when
 * it was due until its answer had come, `capacity` at most; those without an answer count until the end.
 * taken: how many there are. Ends 2 s after the last request at the latest. */
int plain_crowd(
    const int *apps, size_t count, const uint8_t *requests, size_t request_bytes, double per_second,
    double seconds, int64_t *times, size_t capacity, size_t *taken);

/* A head unit that sends all it can, a frame for each of two apps in turn, of which the second stops
 * reading half-way. The first one's longest time without a byte in each half, in nanoseconds, the end of
 * the second half included; and how much came in each. */
struct plain_gaps {
    int64_t longest[2];
    uint64_t bytes[2];
};

/* frames: for the first app and the second, in turn. seconds: of each half. */
int plain_flood(
    int head_unit, int first, int second, const struct plain_frames *frames, double seconds,
    struct plain_gaps *gaps);

/* What became of apps that all connected at once. */
struct plain_connects {
    size_t served, refused, closed, reset, silent;
    /* Nanoseconds from the first connect to each grant, in order; as many as `served`. */
    int64_t *served_after;
};

/* Connects `count` times to a port of this machine without waiting in between, sends StartService over
 * each and waits for what comes, up to `patience` seconds. served_after has room for `count`. The
 * connections are closed. */
int plain_connect_all(
    uint16_t port, size_t count, const uint8_t *start, size_t start_bytes, double patience,
    struct plain_connects *connects);

/* ---- what else runs -------------------------------------------------------------------- */

struct plain_load;

/* So many threads that compute and read memory all the time, as compilers do. */
struct plain_load *plain_load_start(int threads);
void plain_load_stop(struct plain_load *load);

#endif
