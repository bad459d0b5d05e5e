#include "curl.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// libcurl takes a buffer of 128 KiB for each request and gives it back at its end, and so is it with content that a
// reader takes. An allocator returns such memory to the system again and again, which then has to clear each page of it:
// a fifth of the time of a small request. So they are blocks of one size out of one reserved range; what nobody has
// touched costs nothing.

enum {
    // A multiple of the page's size, and of nothing larger: else the same bytes of all blocks share a place in caches.
    STRIDE = 65 * 4096,
    COUNT = 1024,
    // As many free blocks keep their pages.
    WARM = 64,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char *range;
struct tpc_range tpc_blocks;
// Free blocks, the warm ones behind the cold ones.
static unsigned short cold[COUNT], warm[WARM];
static int cold_count, warm_count;

static void reserve(void) {
#if defined(__SANITIZE_ADDRESS__) || (defined(__has_feature) && __has_feature(address_sanitizer))
    // A sanitizer knows malloc's memory alone.
    return;
#endif
    // To give a block's pages back would else take those of its neighbour.
    if (STRIDE % sysconf(_SC_PAGESIZE) != 0) return;
    void *memory = mmap(NULL, (size_t)COUNT * STRIDE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
#if defined(MADV_NOHUGEPAGE)
    madvise(memory, (size_t)COUNT * STRIDE, MADV_NOHUGEPAGE);
#endif
    range = memory;
    atomic_store_explicit(&tpc_blocks.start, (uintptr_t)memory, memory_order_relaxed);
    atomic_store_explicit(&tpc_blocks.bytes, (uintptr_t)COUNT * STRIDE, memory_order_release);
    for (int index = COUNT - 1; index >= 0; index--) cold[cold_count++] = (unsigned short)index;
}

size_t tpc_block_size(void) { return STRIDE; }

void *tpc_block_take(size_t size) {
    if (size < TPC_SMALLEST_BLOCK || size > STRIDE) return NULL;
    pthread_once(&once, reserve);
    pthread_mutex_lock(&lock);
    int index = warm_count > 0 ? warm[--warm_count] : cold_count > 0 ? cold[--cold_count] : -1;
    pthread_mutex_unlock(&lock);
    return index < 0 ? NULL : range + (size_t)index * STRIDE;
}

void tpc_block_give(void *memory) {
    unsigned short index = (unsigned short)((size_t)((char *)memory - range) / STRIDE);
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

void tpc_trim(void) {
    pthread_mutex_lock(&lock);
    for (int index = 0; index < warm_count; index++)
        madvise(range + (size_t)warm[index] * STRIDE, STRIDE, MADV_DONTNEED);
    pthread_mutex_unlock(&lock);
}

size_t tpc_blocks_bytes(void) {
    pthread_mutex_lock(&lock);
    int free_count = cold_count + warm_count;
    pthread_mutex_unlock(&lock);
    return range ? (size_t)(COUNT - free_count) * STRIDE : 0;
}

// MARK: For libcurl and what it calls.

void *tpc_malloc(size_t size) {
    void *block = tpc_block_take(size);
    return block ? block : malloc(size);
}

void tpc_free(void *memory) {
    if (tpc_is_block(memory)) return tpc_block_give(memory);
    free(memory);
}

void *tpc_realloc(void *memory, size_t size) {
    if (!memory) return tpc_malloc(size);
    if (!tpc_is_block(memory)) return realloc(memory, size);
    if (size <= STRIDE && size >= TPC_SMALLEST_BLOCK) return memory;
    void *other = tpc_malloc(size);
    if (!other) return NULL;
    memcpy(other, memory, size < STRIDE ? size : STRIDE);
    tpc_free(memory);
    return other;
}
