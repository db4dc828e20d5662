#define _GNU_SOURCE
#include "relay_shims.h"

#include <pthread.h>

int relay_thread_set_name(const char *name)
{
    return pthread_setname_np(pthread_self(), name);
}
