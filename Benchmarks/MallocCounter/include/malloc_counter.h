// Heap allocations per thread, counted from inside a process and read from inside or outside.
//
// Linked into a program, or put in front of one with LD_PRELOAD, this replaces malloc and its
// relatives by functions that count and then call glibc's. `RelayBenchmarks` does both.

#ifndef RELAY_MALLOC_COUNTER_H
#define RELAY_MALLOC_COUNTER_H

#include <stdint.h>

/// Threads that are told apart, ended ones included; all later ones share the last entry.
#define MALLOC_COUNTER_THREADS 4096

/// Environment variable: path of a file that is to hold the table, so that others can read it.
#define MALLOC_COUNTER_FILE "RELAY_MALLOC_COUNTS"

/// What one thread has asked for since it began.
struct malloc_count {
    /// 0 while the entry is free.
    int64_t thread;
    /// Calls of malloc, calloc, realloc, aligned_alloc, memalign and posix_memalign.
    uint64_t allocations;
    /// Bytes they asked for.
    uint64_t bytes;
};

/// The calling thread's count so far.
uint64_t malloc_counter_here(void);

/// The calling thread as the table and /proc name it.
int64_t malloc_counter_thread(void);

/// Bytes of this process that malloc has given out and not got back, its own overhead included.
int64_t malloc_counter_in_use(void);

/// Entry `index` of this process's table.
struct malloc_count malloc_counter_entry(int index);

/// Entry `index` of a table that another process fills.
struct malloc_count malloc_counter_read(const void *table, int index);

#endif
