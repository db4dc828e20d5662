/* What ThreadSanitizer has to be told about Swift's own locks; nothing in other builds.
 *
 * Synchronization.Mutex is locked and unlocked by atomic operations that the compiler puts into our
 * code, where ThreadSanitizer sees them. When two threads want it at once, both go through the slow
 * path in libswiftSynchronization.so, which is not instrumented: the one that unlocks seems not to
 * hand on what it wrote, and every such meeting would be reported as a race. So both slow paths are
 * defined here as well, in front of the library's, with the order they bring about spelt out. They
 * hide nothing: what is not done under the lock is reported as before. */
#define _GNU_SOURCE
#include "relay_shims.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <dlfcn.h>
#include <stdlib.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

void __tsan_acquire(void *address);
void __tsan_release(void *address);

typedef SWIFT void lock_slow(uint32_t thread, SELF void *mutex);
typedef SWIFT void unlock_slow(SELF void *mutex);

lock_slow relay_lock_slow __asm__(LOCK);
unlock_slow relay_unlock_slow __asm__(UNLOCK);

/* Of the library. Threads that look for it at the same time find the same. */
static void *real(void *_Atomic *place, const char *name) {
    void *found = *place;
    if (!found) {
        found = dlsym(RTLD_NEXT, name);
        if (!found) abort();
        *place = found;
    }
    return found;
}

SWIFT void relay_lock_slow(uint32_t thread, SELF void *mutex) {
    static void *_Atomic place;
    ((lock_slow *)real(&place, LOCK))(thread, mutex);
    __tsan_acquire(mutex);
}

SWIFT void relay_unlock_slow(SELF void *mutex) {
    static void *_Atomic place;
    __tsan_release(mutex);
    ((unlock_slow *)real(&place, UNLOCK))(mutex);
}
#endif
#endif
