/* zlib 1.2, which Debian 12 has: traces that are compressed with gzip. */
#include <zlib.h>
