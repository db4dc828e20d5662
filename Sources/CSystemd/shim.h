/* The parts of libsystemd relayd uses: the message bus, readiness and watchdog (sd-daemon), the journal. */
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
