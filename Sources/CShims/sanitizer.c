/* Which sanitizer this was compiled with, for the tests. */
#include "relay_shims.h"

int relay_sanitizer(void) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
    return RELAY_THREAD_SANITIZER;
#elif __has_feature(address_sanitizer)
    return RELAY_ADDRESS_SANITIZER;
#endif
#endif
    return RELAY_NO_SANITIZER;
}
