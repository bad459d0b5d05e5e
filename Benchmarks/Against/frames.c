// SPDX-License-Identifier: Apache-2.0

// If it is loaded before Swift's runtime, it prints the largest total of asynchronous frames at one time in bytes.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 4096 };

// A task frees its frames in reverse order. A program with one caller has one deep task on a thread.
static _Thread_local struct {
    void *frame;
    size_t bytes;
} frames[DEPTH];
static _Thread_local int depth;
static _Thread_local size_t bytes;
static size_t most;

void *swift_task_alloc(size_t size) {
    static void *(*next)(size_t);
    if (!next) next = (void *(*)(size_t))dlsym(RTLD_NEXT, "swift_task_alloc");
    void *frame = next(size);
    if (depth < DEPTH) {
        frames[depth].frame = frame;
        frames[depth++].bytes = size;
        bytes += size;
        if (bytes > most) most = bytes;
    }
    return frame;
}

void swift_task_dealloc(void *frame) {
    static void (*next)(void *);
    if (!next) next = (void (*)(void *))dlsym(RTLD_NEXT, "swift_task_dealloc");
    for (int index = depth; index-- > 0;) {
        if (frames[index].frame != frame) continue;
        while (depth > index) bytes -= frames[--depth].bytes;
        break;
    }
    next(frame);
}

__attribute__((destructor)) static void print(void) { printf("most frame bytes: %zu\n", most); }
