/* Files that travel inside the programs: one file to install, none to find. C, because its #embed takes a
 * moment where Swift compiles a literal of as many bytes for minutes. */
#ifndef RELAY_FILES_H
#define RELAY_FILES_H

#include <stddef.h>

/* The bytes live as long as the program. */
struct relay_file {
    const char *name;
    const void *bytes;
    size_t count;
};

/* The dashboard: its page and what the page asks for, by name. */
size_t relay_dashboard_file_count(void);
/* index: below that count. */
struct relay_file relay_dashboard_file(size_t index);

/* The control API in OpenAPI 3.1. */
struct relay_file relay_openapi_description(void);

/* What relayctl record format prints. */
struct relay_file relay_trace_format(void);

/* The ready scenarios, by name. */
size_t relay_scenario_count(void);
/* index: below that count. */
struct relay_file relay_scenario(size_t index);

/* The dissector that relayctl wireshark installs. */
struct relay_file relay_wireshark_dissector(void);

#endif
