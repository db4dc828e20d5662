/* What the clock on the wall says. */
#define _GNU_SOURCE
#include "relay_shims.h"

#include <time.h>

int64_t relay_milliseconds_since_1970(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
