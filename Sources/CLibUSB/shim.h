/* libusb 1.0, and what of it Swift cannot call: variadic functions. Debian 12 has 1.0.26, so
 * nothing newer is used. */
#ifndef RELAY_LIBUSB_SHIM_H
#define RELAY_LIBUSB_SHIM_H

#include <libusb.h>

/* Carries out what is ready, without waiting. (In Swift the module that timeval comes from changes with
 * what else is imported.) */
static inline int relay_usb_handle_events_now(libusb_context *context) {
    struct timeval now = {0, 0};
    return libusb_handle_events_timeout_completed(context, &now, NULL);
}

/* libusb_set_option(LIBUSB_OPTION_LOG_LEVEL). */
static inline int relay_usb_set_log_level(libusb_context *context, enum libusb_log_level level) {
    return libusb_set_option(context, LIBUSB_OPTION_LOG_LEVEL, level);
}

#endif
