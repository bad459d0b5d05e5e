// SPDX-License-Identifier: Apache-2.0

// If it is loaded before Swift's runtime, it prints the largest total of one task's asynchronous frames in bytes.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { TASKS = 64 };

// Any thread may free a frame, because a task can go on in another thread.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    void *task;
    size_t bytes, depth, frames[256];
} tasks[TASKS];
static size_t most;

extern void *swift_task_getCurrent(void);

/// The place of the current task, or of none that has frames.
static int place(void) {
    void *task = swift_task_getCurrent();
    for (int index = 0; index < TASKS; index++)
        if (tasks[index].depth && tasks[index].task == task) return index;
    for (int index = 0; index < TASKS; index++) {
        if (tasks[index].depth) continue;
        tasks[index].task = task;
        return index;
    }
    abort();
}

void *swift_task_alloc(size_t size) {
    static void *(*next)(size_t);
    if (!next) next = (void *(*)(size_t))dlsym(RTLD_NEXT, "swift_task_alloc");
    pthread_mutex_lock(&lock);
    int index = place();
    if (tasks[index].depth == 256) abort();
    tasks[index].frames[tasks[index].depth++] = size;
    tasks[index].bytes += size;
    if (tasks[index].bytes > most) most = tasks[index].bytes;
    pthread_mutex_unlock(&lock);
    return next(size);
}

// A task frees its frames in the reverse order.
void swift_task_dealloc(void *frame) {
    static void (*next)(void *);
    if (!next) next = (void (*)(void *))dlsym(RTLD_NEXT, "swift_task_dealloc");
    pthread_mutex_lock(&lock);
    int index = place();
    if (tasks[index].depth) tasks[index].bytes -= tasks[index].frames[--tasks[index].depth];
    pthread_mutex_unlock(&lock);
    next(frame);
}

__attribute__((destructor)) static void print(void) { printf("most frame bytes: %zu\n", most); }
