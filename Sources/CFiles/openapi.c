#include "relay_files.h"

/* #embed is of C23; this clang has it in every mode, and warns. */
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char openapi[] = {
#embed "../relayd/Control/OpenAPI/openapi.json"
};

struct relay_file relay_openapi_description(void)
{
    return (struct relay_file){"openapi.json", openapi, sizeof openapi};
}
