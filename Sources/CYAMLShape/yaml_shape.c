/* See yaml_shape.h. */
#include "yaml_shape.h"

#include <string.h>
#include <yaml.h>

static void note(const yaml_event_t *event, struct relay_yaml_place *place)
{
    place->line = event->start_mark.line + 1;
    place->column = event->start_mark.column + 1;
    if (event->type == YAML_ALIAS_EVENT)
        strncpy(place->name, (const char *)event->data.alias.anchor, sizeof place->name - 1);
}

enum relay_yaml_finding relay_yaml_shape(
    const unsigned char *text, size_t size, int maximum_depth, struct relay_yaml_place *place)
{
    yaml_parser_t parser;
    enum relay_yaml_finding finding = RELAY_YAML_NOTHING;
    int depth = 0, is_over = 0;

    memset(place, 0, sizeof *place);
    if (!yaml_parser_initialize(&parser))
        return RELAY_YAML_NOTHING;
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, text, size);
    while (!is_over) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event))
            break;
        switch (event.type) {
        case YAML_ALIAS_EVENT:
            finding = RELAY_YAML_ALIAS;
            break;
        case YAML_SEQUENCE_START_EVENT:
        case YAML_MAPPING_START_EVENT:
            if (++depth > maximum_depth)
                finding = RELAY_YAML_TOO_DEEP;
            break;
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT:
            depth--;
            break;
        case YAML_STREAM_END_EVENT:
        case YAML_NO_EVENT:
            is_over = 1;
            break;
        default:
            break;
        }
        if (finding != RELAY_YAML_NOTHING) {
            note(&event, place);
            is_over = 1;
        }
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return finding;
}
