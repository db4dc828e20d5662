#include "relay_files.h"

/* #embed is of C23; this clang has it in every mode, and warns. */
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char trace_format[] = {
#embed "../../Documentation/trace-format.md"
};
static const unsigned char dissector[] = {
#embed "../../config/wireshark/sdl.lua"
};

struct relay_file relay_trace_format(void)
{
    return (struct relay_file){"trace-format.md", trace_format, sizeof trace_format};
}

struct relay_file relay_wireshark_dissector(void)
{
    return (struct relay_file){"sdl.lua", dissector, sizeof dissector};
}
