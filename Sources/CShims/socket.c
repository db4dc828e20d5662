/* What a connected socket knows about its peer and its queue. */
#define _GNU_SOURCE
#include "relay_shims.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int relay_peer_credentials(int fd, pid_t *pid, uid_t *uid, gid_t *gid) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return errno;
    if (pid) *pid = peer.pid;
    if (uid) *uid = peer.uid;
    if (gid) *gid = peer.gid;
    return 0;
}

int relay_peer_groups(int fd, gid_t *groups, size_t *count) {
    socklen_t size = (socklen_t)(*count * sizeof *groups);
    int status = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0 ? errno : 0;
    *count = size / sizeof *groups;
    return status;
}

int relay_socket_output_queue(int fd, int *bytes) {
    return ioctl(fd, SIOCOUTQ, bytes) < 0 ? errno : 0;
}

int relay_socket_unsent(int fd, int *bytes) {
    return ioctl(fd, SIOCOUTQNSD, bytes) < 0 ? errno : 0;
}
