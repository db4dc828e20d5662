/* The outline of a YAML text, by the events of libyaml inside Yams: what YAMLShape.swift asks. In C,
   because libyaml's own header changes what Swift takes `struct timeval` for. */
#ifndef RELAY_YAML_SHAPE_H
#define RELAY_YAML_SHAPE_H

#include <stddef.h>

/* What stands in a text that no configuration needs. */
enum relay_yaml_finding {
    RELAY_YAML_NOTHING = 0,
    RELAY_YAML_ALIAS = 1,
    RELAY_YAML_TOO_DEEP = 2
};

struct relay_yaml_place {
    /* From 1. */
    size_t line;
    size_t column;
    /* The alias, cut; ends with a zero byte. */
    char name[64];
};

/* The first alias, or the first collection that is nested deeper than that many levels. A text that is
   no YAML has neither from there on. */
enum relay_yaml_finding relay_yaml_shape(
    const unsigned char *text, size_t size, int maximum_depth, struct relay_yaml_place *place);

#endif
