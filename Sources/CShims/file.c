#define _GNU_SOURCE
#include "relay_shims.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int relay_file_identity(int fd, uint64_t *device, uint64_t *inode)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return errno;
    *device = status.st_dev;
    *inode = status.st_ino;
    return 0;
}

int relay_entry_open(const char *path, int *fd)
{
    *fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return *fd < 0 ? errno : 0;
}

int relay_entry_set_group(int fd, gid_t group)
{
    return fchownat(fd, "", (uid_t)-1, group, AT_EMPTY_PATH) < 0 ? errno : 0;
}

int relay_file_reserve(int fd, int64_t offset, int64_t bytes)
{
    return fallocate(fd, FALLOC_FL_KEEP_SIZE, offset, bytes) < 0 ? errno : 0;
}
