#include "relay_shims.h"

#include <errno.h>
#include <sys/stat.h>

int relay_file_identity(int fd, uint64_t *device, uint64_t *inode)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return errno;
    *device = status.st_dev;
    *inode = status.st_ino;
    return 0;
}
