#define _GNU_SOURCE
#include "malloc_counter.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// What glibc's own names stand for; exported for exactly this purpose.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static struct malloc_count own_table[MALLOC_COUNTER_THREADS];
static struct malloc_count *table = own_table;

// Initial-exec: any other model may call malloc for its first access.
static __thread struct malloc_count *mine __attribute__((tls_model("initial-exec")));

static struct malloc_count *claim(void) {
    int64_t self = syscall(SYS_gettid);
    for (int index = 0; index < MALLOC_COUNTER_THREADS - 1; index++) {
        int64_t nobody = 0;
        if (__atomic_compare_exchange_n(
                &table[index].thread, &nobody, self, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return &table[index];
    }
    __atomic_store_n(&table[MALLOC_COUNTER_THREADS - 1].thread, -1, __ATOMIC_RELAXED);
    return &table[MALLOC_COUNTER_THREADS - 1];
}

static inline void count(size_t bytes) {
    if (!mine) mine = claim();
    __atomic_fetch_add(&mine->allocations, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&mine->bytes, bytes, __ATOMIC_RELAXED);
}

// Runs before main; what was allocated until then stays in the process's own table.
__attribute__((constructor)) static void share(void) {
    const char *path = getenv(MALLOC_COUNTER_FILE);
    if (!path) return;
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return;
    if (ftruncate(file, sizeof own_table) == 0) {
        void *shared =
            mmap(NULL, sizeof own_table, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (shared != MAP_FAILED) {
            table = shared;
            mine = NULL;
        }
    }
    close(file);
}

void *malloc(size_t size) {
    count(size);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count(number * size);
    return __libc_calloc(number, size);
}

void *realloc(void *pointer, size_t size) {
    count(size);
    return __libc_realloc(pointer, size);
}

void *memalign(size_t alignment, size_t size) {
    count(size);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **pointer, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    void *memory = memalign(alignment, size);
    if (!memory) return ENOMEM;
    *pointer = memory;
    return 0;
}

uint64_t malloc_counter_here(void) {
    return mine ? __atomic_load_n(&mine->allocations, __ATOMIC_RELAXED) : 0;
}

int64_t malloc_counter_thread(void) { return syscall(SYS_gettid); }

struct malloc_count malloc_counter_read(const void *from, int index) {
    const struct malloc_count *entry = (const struct malloc_count *)from + index;
    struct malloc_count copy = {
        __atomic_load_n(&entry->thread, __ATOMIC_RELAXED),
        __atomic_load_n(&entry->allocations, __ATOMIC_RELAXED),
        __atomic_load_n(&entry->bytes, __ATOMIC_RELAXED),
    };
    return copy;
}

struct malloc_count malloc_counter_entry(int index) { return malloc_counter_read(table, index); }

int64_t malloc_counter_in_use(void) {
    struct mallinfo2 info = mallinfo2();
    return (int64_t)(info.uordblks + info.hblkhd);
}
