// SPDX-License-Identifier: Apache-2.0

#include "libcurl.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// The memory of libcurl and of what comes for a transfer: malloc's, except for large buffers.
//
// libcurl takes a buffer of 128 KiB for each request and frees it at its end, and a reader does the same with content. malloc
// returns memory of such a size to the system each time, which must clear each page again. So large buffers are blocks of one
// size in one reserved range, in which pages that were never touched cost nothing.
//
// Blocks save a fifth of the client's CPU for responses of 64 KiB, 64 at once: 0.044 instead of 0.056 ms for each, the medians of
// seven interleaved rounds with and without `take_block` in `tpc_malloc`.
//
//     scripts/bench peers --only W3 --clients curl
//
// Memory for small pieces, of which libcurl takes some forty for a request, stays malloc's: to keep them for the next request
// saved less than 3 % of the instructions.

enum {
    // A multiple of the page size and of no larger power of two: otherwise the same bytes of all blocks compete for the same
    // lines of the processor's caches.
    STRIDE = 65 * 4096,
    COUNT = 1024,
    // The number of free blocks that keep their pages.
    WARM = 64,
    // Smaller memory is malloc's: a reader may keep it for long.
    SMALLEST = 49152,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
// Where the blocks are. Any thread may read it while another one takes the first block.
static _Atomic uintptr_t range_start, range_bytes;
// The free blocks, with and without pages.
static unsigned short cold[COUNT], warm[WARM];
static int cold_count, warm_count;

static void reserve(void) {
#if defined(__SANITIZE_ADDRESS__) || (defined(__has_feature) && __has_feature(address_sanitizer))
    // The sanitizer only knows malloc's memory.
    return;
#endif
    if (STRIDE % sysconf(_SC_PAGESIZE) != 0) return;
    void *memory = mmap(NULL, (size_t)COUNT * STRIDE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
#if defined(MADV_NOHUGEPAGE)
    madvise(memory, (size_t)COUNT * STRIDE, MADV_NOHUGEPAGE);
#endif
    atomic_store_explicit(&range_start, (uintptr_t)memory, memory_order_relaxed);
    atomic_store_explicit(&range_bytes, (uintptr_t)COUNT * STRIDE, memory_order_release);
    for (int index = COUNT - 1; index >= 0; index--) cold[cold_count++] = (unsigned short)index;
}

static char *block(int index) {
    return (char *)atomic_load_explicit(&range_start, memory_order_relaxed) + (size_t)index * STRIDE;
}

static bool is_block(const void *memory) {
    uintptr_t bytes = atomic_load_explicit(&range_bytes, memory_order_acquire);
    return (uintptr_t)memory - atomic_load_explicit(&range_start, memory_order_relaxed) < bytes;
}

static void *take_block(void) {
    pthread_once(&once, reserve);
    pthread_mutex_lock(&lock);
    int index = warm_count > 0 ? warm[--warm_count] : cold_count > 0 ? cold[--cold_count] : -1;
    pthread_mutex_unlock(&lock);
    return index < 0 ? NULL : block(index);
}

static void free_block(void *memory) {
    unsigned short index = (unsigned short)((size_t)((char *)memory - block(0)) / STRIDE);
    pthread_mutex_lock(&lock);
    bool is_warm = warm_count < WARM;
    if (is_warm) warm[warm_count++] = index;
    pthread_mutex_unlock(&lock);
    if (is_warm) return;
    madvise(memory, STRIDE, MADV_DONTNEED);
    pthread_mutex_lock(&lock);
    cold[cold_count++] = index;
    pthread_mutex_unlock(&lock);
}

size_t tpc_block_size(void) { return STRIDE; }

size_t tpc_blocks_bytes(void) {
    pthread_mutex_lock(&lock);
    int free_count = cold_count + warm_count;
    pthread_mutex_unlock(&lock);
    return atomic_load(&range_bytes) ? (size_t)(COUNT - free_count) * STRIDE : 0;
}

void tpc_trim(void) {
    pthread_mutex_lock(&lock);
    for (int index = 0; index < warm_count; index++) madvise(block(warm[index]), STRIDE, MADV_DONTNEED);
    pthread_mutex_unlock(&lock);
}

void *tpc_malloc(size_t size) {
    void *memory = size >= SMALLEST && size <= STRIDE ? take_block() : NULL;
    return memory ? memory : malloc(size);
}

void tpc_free(void *memory) {
    // libcurl often frees NULL.
    if (!memory) return;
    if (is_block(memory)) free_block(memory);
    else free(memory);
}

void *tpc_realloc(void *memory, size_t size) {
    if (!is_block(memory)) return memory ? realloc(memory, size) : tpc_malloc(size);
    if (size <= STRIDE && size >= SMALLEST) return memory;
    void *other = tpc_malloc(size);
    if (!other) return NULL;
    memcpy(other, memory, size < STRIDE ? size : STRIDE);
    free_block(memory);
    return other;
}
