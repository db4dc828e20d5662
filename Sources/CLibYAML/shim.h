/* The parser of libyaml 0.2, which Debian 12 has. */
#include <yaml.h>
