// SPDX-License-Identifier: Apache-2.0

#include "MallocCounter.h"
#include <stdatomic.h>
#include <stddef.h>

static _Atomic uint64_t count;

uint64_t malloc_count(void) { return atomic_load_explicit(&count, memory_order_relaxed); }

#if defined(__linux__) && defined(__GLIBC__)
// glibc provides its functions under these names, too, so that a program may replace the usual ones.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t number, size_t size);
extern void *__libc_realloc(void *pointer, size_t size);

void *malloc(size_t size) {
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return __libc_calloc(number, size);
}

void *realloc(void *pointer, size_t size) {
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return __libc_realloc(pointer, size);
}
#endif
