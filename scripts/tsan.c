// SPDX-License-Identifier: Apache-2.0

// Reports the ordering of a contended Mutex to the thread sanitizer. On Linux, its slow paths are in the standard library,
// which the sanitizer does not instrument: it would report races between holders of the same lock. Preloaded.

void *dlsym(void *handle, const char *name);
#define NEXT ((void *)-1)

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *

// Weak, because other processes, such as the compiler, have no sanitizer.
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

SWIFT void lock(unsigned thread, SELF mutex) __asm__(LOCK);
SWIFT _Bool try_lock(SELF mutex) __asm__(TRY_LOCK);
SWIFT void unlock(SELF mutex) __asm__(UNLOCK);

SWIFT void lock(unsigned thread, SELF mutex) {
    ((SWIFT void (*)(unsigned, SELF))dlsym(NEXT, LOCK))(thread, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT _Bool try_lock(SELF mutex) {
    _Bool is_locked = ((SWIFT _Bool (*)(SELF))dlsym(NEXT, TRY_LOCK))(mutex);
    if (is_locked && __tsan_acquire) __tsan_acquire(mutex);
    return is_locked;
}

SWIFT void unlock(SELF mutex) {
    if (__tsan_release) __tsan_release(mutex);
    ((SWIFT void (*)(SELF))dlsym(NEXT, UNLOCK))(mutex);
}
