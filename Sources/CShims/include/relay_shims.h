/* What Glibc's Swift module leaves out: requests behind macros, structs behind _GNU_SOURCE.
 *
 * Called by AccessoryLinks (ttys), the control socket (peer credentials, queue lengths) and
 * RelayTesting (ptys). Nothing here decides anything: one call, one system request.
 *
 * Every function returns 0 when it worked and otherwise the errno value (positive), unless its
 * comment says otherwise. None of them closes or keeps a descriptor it was given.
 */
#ifndef RELAY_SHIMS_H
#define RELAY_SHIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- ttys ---------------------------------------------------------------------------- */

/* Puts a tty into raw mode, 8N1, receiver on, modem lines ignored (CLOCAL), no XON/XOFF,
 * VMIN 1 and VTIME 0 (with VMIN 0 an empty read would look like a hang-up).
 * baud: bits per second, any number (termios2, BOTHER); 0 leaves the rate as it is.
 * rts_cts: hardware flow control on or off. */
int relay_tty_set_raw(int fd, uint32_t baud, bool rts_cts);

/* What the driver really took, after relay_tty_set_raw. Null pointers are skipped. */
int relay_tty_get_settings(int fd, uint32_t *baud, bool *rts_cts, bool *raw);

/* TIOCEXCL / TIOCNXCL: further opens fail with EBUSY (not for CAP_SYS_ADMIN). */
int relay_tty_set_exclusive(int fd, bool exclusive);

/* TIOCMBIS / TIOCMBIC with TIOCM_DTR. ENOTTY on ptys, which have no modem lines. */
int relay_tty_set_dtr(int fd, bool on);

/* TIOCMGET's carrier detect. ENOTTY on ptys. */
int relay_tty_get_carrier(int fd, bool *carrier);

/* Bytes written to the tty that have not left the driver (TIOCOUTQ). */
int relay_tty_output_queue(int fd, int *bytes);

/* Throws away what waits in both directions (TCIOFLUSH), so that close does not wait for it. */
int relay_tty_flush(int fd);

/* ---- RFCOMM -------------------------------------------------------------------------- */

/* State of /dev/rfcomm<device_id> as the kernel's Bluetooth code keeps it (RFCOMMGETDEVINFO).
 * Needs no privilege; EAFNOSUPPORT or EPROTONOSUPPORT without Bluetooth in the kernel. */
int relay_rfcomm_is_connected(int device_id, bool *connected);

/* Begins to connect to an RFCOMM channel, paired and encrypted. The device's six bytes are in the order
 * in which they are written. The socket does not block; it is writable when the outcome is known. */
int relay_rfcomm_connect(const uint8_t *device, uint8_t channel, int *fd);

/* ---- sockets ------------------------------------------------------------------------- */

/* Who connected to this Unix socket (SO_PEERCRED, struct ucred). */
int relay_peer_credentials(int fd, pid_t *pid, uid_t *uid, gid_t *gid);

/* The supplementary groups that process had when it connected (SO_PEERGROUPS): at most *count of
 * them are written to groups, and *count becomes how many there are. ERANGE when there are more. */
int relay_peer_groups(int fd, gid_t *groups, size_t *count);

/* Bytes written to the socket that the peer has not acknowledged (SIOCOUTQ). */
int relay_socket_output_queue(int fd, int *bytes);

/* Bytes written to a TCP socket that have not been sent once (SIOCOUTQNSD): what is on the network
 * is not among them. Unix sockets do not know it (EINVAL, ENOTTY). */
int relay_socket_unsent(int fd, int *bytes);

/* ---- files --------------------------------------------------------------------------- */

/* Device and inode behind a descriptor (fstat): what JOURNAL_STREAM names, and how two descriptors
 * are found to be one file. Here, because Swift finds struct stat in whichever C module of a
 * dependency happened to include it first. */
int relay_file_identity(int fd, uint64_t *device, uint64_t *inode);

/// Holds what stands under a name, a link itself and not what it points to (open(2), "O_PATH").
/// Returns 0 or an errno.
int relay_entry_open(const char *path, int *fd);

/// Gives what relay_entry_open holds to a group. Returns 0 or an errno.
int relay_entry_set_group(int fd, gid_t group);

/* Reserves room on the disk without making the file larger (fallocate, FALLOC_FL_KEEP_SIZE). Whatever
 * it returns, some may be reserved, until the file is cut (ftruncate), also to the size that it has. */
int relay_file_reserve(int fd, int64_t offset, int64_t bytes);

/* ---- USB gadgets --------------------------------------------------------------------- */

/* How many bytes a packet has on an endpoint of a FunctionFS function at the speed of now
 * (FUNCTIONFS_ENDPOINT_DESC). Waits until the host has configured the gadget, unless it is opened with
 * O_NONBLOCK (EAGAIN). */
int relay_functionfs_packet_bytes(int fd, uint16_t *bytes);

/* Several transfers of one FunctionFS endpoint at a time, by the kernel's asynchronous reads and writes
 * (io_submit(2)). Calls return 0 or an errno value unless it says otherwise. */
struct relay_transfer {
    /* Comes back with the result. */
    uint64_t name;
    void *bytes;
    uint64_t count;
    /* Bytes moved, or a negative errno value. */
    int64_t result;
};
/* Transfers given to one call. */
#define RELAY_TRANSFERS 256

/* Room for so many transfers under way. */
int relay_transfers_open(uint32_t room, uint64_t *transfers);
/* Cancels those under way, and waits for that. */
void relay_transfers_close(uint64_t transfers);
/* A descriptor to be polled, readable when one that was begun with it has ended since it was last read
 * (eventfd(2), O_CLOEXEC, O_NONBLOCK). */
int relay_transfers_bell(int *bell);
/* Begins the transfers, at most RELAY_TRANSFERS, in their order. Each rings the bell when it ends, unless that is
 * -1. Returns how many the kernel has taken, or a negative errno value. */
int relay_transfers_begin(
    uint64_t transfers, int fd, int to_host, int bell, const struct relay_transfer *begun, int count);
/* Waits for one to end, so many milliseconds (-1: any time), and takes at most `count` and RELAY_TRANSFERS of
 * those that have. Returns how many, 0 when the time was over, or a negative errno value (EINTR). */
int relay_transfers_wait(uint64_t transfers, struct relay_transfer *ended, int count, int milliseconds);

/* A socket on which the kernel tells of devices that come and go (NETLINK_KOBJECT_UEVENT): *fd, O_CLOEXEC,
 * O_NONBLOCK. One read gives one message. */
int relay_uevent_open(int *fd);

/* ---- pseudo-terminals ---------------------------------------------------------------- */

/* Opens a new pty: *master (O_NOCTTY, O_CLOEXEC, O_NONBLOCK), unlocked, and the path of its
 * slave in path[0..<size]. On failure nothing stays open. */
int relay_pty_open(int *master, char *path, size_t size);

/* ---- programs ------------------------------------------------------------------------ */

/* Adds to a posix_spawn_file_actions_t: every descriptor from fd on is closed in the new program
 * (posix_spawn_file_actions_addclosefrom_np, a GNU extension). */
int relay_spawn_close_from(void *actions, int fd);

/* ---- sanitizers ---------------------------------------------------------------------- */

#define RELAY_NO_SANITIZER 0
#define RELAY_THREAD_SANITIZER 1
#define RELAY_ADDRESS_SANITIZER 2

/* Which of them this build has. */
int relay_sanitizer(void);

/* ---- time ---------------------------------------------------------------------------- */

/* Milliseconds since 1970-01-01T00:00:00Z. (In Swift the module that timespec comes from changes with what
 * else is imported.) */
int64_t relay_milliseconds_since_1970(void);

/* ---- threads ------------------------------------------------------------------------- */

/* Asks for slices of so many nanoseconds of a processor for the calling thread, from 100,000 to
 * 100,000,000 (sched_setattr, Linux 6.12; older ones take no notice). */
int relay_thread_set_slice(uint64_t nanoseconds);

/* Threads whose blocking system calls may be interrupted: relay_interrupt_prepare once per process
 * (it installs a handler that does nothing for a real-time signal), relay_thread_allow_interrupt on
 * each such thread (which blocks every other signal), then relay_thread_interrupt from elsewhere
 * while that thread lives. A call that is not waiting yet is not affected. */
int relay_interrupt_prepare(void);
int relay_thread_allow_interrupt(void);
int relay_thread_interrupt(unsigned long thread);

/* Calls the calling thread so, for top -H and debuggers. ERANGE above 15 bytes. */
int relay_thread_set_name(const char *name);

#endif
