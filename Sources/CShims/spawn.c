/* Starting programs, for the tests' child processes. */
#define _GNU_SOURCE
#include "relay_shims.h"

#include <spawn.h>

int relay_spawn_close_from(void *actions, int fd) {
    return posix_spawn_file_actions_addclosefrom_np(actions, fd);
}
