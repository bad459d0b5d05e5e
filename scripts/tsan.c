// SPDX-License-Identifier: Apache-2.0

// Reports to the thread sanitizer what orders threads inside the libraries of Swift, which it does not instrument. Preloaded.
// - On Linux, the slow paths of a Mutex: it would report races between holders of the same lock.
// - A continuation that is resumed before its task waits: the library reports only the other order. The sanitizer would
//   report a race between the resumption and the task, which goes on and uses the same memory for its next continuation.

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

#define AWAIT "swift_continuation_await"
#define RESUME "swift_continuation_resume"
#define RESUME_THROWING "swift_continuation_throwingResume"
#define RESUME_WITH_ERROR "swift_continuation_throwingResumeWithError"
#define ASYNC __attribute__((swiftasynccall))
#define CONTEXT __attribute__((swift_async_context)) struct context *

// The start of AsyncContext, which is a part of Swift's binary interface.
struct context {
    struct context *parent;
    ASYNC void (*resume)(CONTEXT);
};

SWIFT void *swift_task_getCurrent(void) __attribute__((weak));
ASYNC void await_continuation(struct context *context) __asm__(AWAIT);
SWIFT void resume(void *task) __asm__(RESUME);
SWIFT void resume_throwing(void *task) __asm__(RESUME_THROWING);
SWIFT void resume_with_error(void *task, void *error) __asm__(RESUME_WITH_ERROR);

static _Thread_local ASYNC void (*task_goes_on)(CONTEXT);

static ASYNC void go_on(CONTEXT context) {
    if (__tsan_acquire) __tsan_acquire(swift_task_getCurrent());
    __attribute__((musttail)) return task_goes_on(context);
}

// A task that is suspended goes on with what it recorded before. This is called, on this thread, only if it need not wait.
ASYNC void await_continuation(struct context *context) {
    task_goes_on = context->resume;
    context->resume = go_on;
    ASYNC void (*next)(struct context *) = (ASYNC void (*)(struct context *))dlsym(NEXT, AWAIT);
    __attribute__((musttail)) return next(context);
}

SWIFT void resume(void *task) {
    if (__tsan_release) __tsan_release(task);
    ((SWIFT void (*)(void *))dlsym(NEXT, RESUME))(task);
}

SWIFT void resume_throwing(void *task) {
    if (__tsan_release) __tsan_release(task);
    ((SWIFT void (*)(void *))dlsym(NEXT, RESUME_THROWING))(task);
}

SWIFT void resume_with_error(void *task, void *error) {
    if (__tsan_release) __tsan_release(task);
    ((SWIFT void (*)(void *, void *))dlsym(NEXT, RESUME_WITH_ERROR))(task, error);
}
