#include "relay_version.h"

#ifndef RELAY_BUILD
#define RELAY_BUILD ""
#endif

const char *relay_build(void)
{
    return RELAY_BUILD;
}
