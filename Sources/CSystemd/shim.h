/* The parts of libsystemd relayd uses: readiness, watchdog (sd-daemon) and the journal. */
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
