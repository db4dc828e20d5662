/* Which commit a build is of. C, because only C can be told a text by Package.swift. */
#ifndef RELAY_VERSION_H
#define RELAY_VERSION_H

/* What the build was told in the environment variable RELAY_BUILD, such as "81a52d7b0"; empty when it
 * was told nothing. */
const char *relay_build(void);

#endif
