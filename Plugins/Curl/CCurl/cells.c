#include "curl.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <malloc.h>
#endif

// libcurl takes some forty small pieces of memory for a request and gives all of them back when it ends: more than an
// allocator keeps at hand for a thread, and it then looks for neighbours to join them with, to take them apart for the next
// request. And what comes of a response is given back by its reader, in another thread, so that both wait for the
// allocator's lock. So a loop keeps such pieces, and readers leave theirs where loops find them. They are malloc's own, so
// that each may be freed by whoever has it.

// A sanitizer is to see what is freed; and elsewhere a piece does not tell what it has room for.
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KEEPS 1
#else
#define KEEPS 0
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef KEEPS
#define KEEPS 0
#endif
#endif

enum {
    LARGEST = 4096,
    CLASSES = LARGEST / 16 + 1,
    // Of each size that is kept, and a piece more: one that is taken elsewhere must not use up the room of the others.
    SHARE = 16384,
    // Of what readers have left.
    LIMIT = 524288,
};

typedef struct cell { struct cell *next; } cell;

// By what fits: the nth are of 16n + 8 bytes or more, which is what glibc's sizes are.
struct tpc_cells {
    cell *first[CLASSES];
    // As many more are kept.
    unsigned short wanted[CLASSES];
};

static size_t class_for(size_t size) { return size <= 24 ? 1 : (size + 7) / 16; }
static size_t room_of(size_t class) { return 16 * class + 8; }

// Those of the loop whose turn this thread takes.
static _Thread_local tpc_cells *mine;
// What readers have left, for any loop; nothing is taken from it but all of it.
static _Atomic(cell *) left;
static atomic_size_t left_bytes;

// The class of a piece that is no block, or 0 where it is not to be kept.
static size_t class_of(void *memory) {
#if KEEPS
    size_t room = malloc_usable_size(memory);
    return room < 24 || room > LARGEST + 8 ? 0 : (room - 8) / 16;
#else
    return 0;
#endif
}

static bool keep(tpc_cells *cells, void *memory, size_t class) {
    if (cells->wanted[class] == 0) return false;
    cells->wanted[class]--;
    ((cell *)memory)->next = cells->first[class];
    cells->first[class] = memory;
    return true;
}

static void *take(tpc_cells *cells, size_t class) {
    cell *first = cells->first[class];
    if (!first) return NULL;
    cells->first[class] = first->next;
    cells->wanted[class]++;
    return first;
}

// Takes what readers have left; frees it where there are no cells for it.
static void fetch(tpc_cells *cells) {
    if (!atomic_load_explicit(&left, memory_order_relaxed)) return;
    size_t bytes = 0;
    for (cell *next, *each = atomic_exchange_explicit(&left, NULL, memory_order_acquire); each; each = next) {
        next = each->next;
        size_t class = class_of(each);
        bytes += room_of(class);
        if (!cells || !keep(cells, each, class)) free(each);
    }
    atomic_fetch_sub_explicit(&left_bytes, bytes, memory_order_relaxed);
}

static bool leave(void *memory, size_t class) {
    size_t room = room_of(class);
    if (atomic_fetch_add_explicit(&left_bytes, room, memory_order_relaxed) > LIMIT) {
        atomic_fetch_sub_explicit(&left_bytes, room, memory_order_relaxed);
        return false;
    }
    cell *this = memory;
    this->next = atomic_load_explicit(&left, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&left, &this->next, this, memory_order_release, memory_order_relaxed)) {}
    return true;
}

// MARK: For loops.

tpc_cells *tpc_cells_create(void) {
    tpc_cells *cells = KEEPS ? calloc(1, sizeof *cells) : NULL;
    for (size_t class = 1; cells && class < CLASSES; class++) cells->wanted[class] = SHARE / room_of(class) + 1;
    return cells;
}

void tpc_cells_free(tpc_cells *cells) {
    if (!cells) return;
    for (size_t class = 0; class < CLASSES; class++) {
        for (void *each; (each = take(cells, class));) free(each);
    }
    free(cells);
}

void tpc_cells_use(tpc_cells *cells) { mine = cells; }

void tpc_trim(void) {
    fetch(NULL);
    tpc_blocks_trim();
}

// MARK: For libcurl and what it calls.

void *tpc_malloc(size_t size) {
    if (size > LARGEST) {
        void *block = tpc_block_take(size);
        return block ? block : malloc(size);
    }
    if (!mine) return malloc(size);
    size_t class = class_for(size);
    void *cell = take(mine, class);
    if (cell) return cell;
    fetch(mine);
    cell = take(mine, class);
    return cell ? cell : malloc(room_of(class));
}

static __attribute__((noinline)) void give(void *memory) {
    if (tpc_is_block(memory)) return tpc_block_give(memory);
    size_t class = class_of(memory);
    if (class == 0 || !(mine ? keep(mine, memory, class) : leave(memory, class))) free(memory);
}

void tpc_free(void *memory) {
    // libcurl frees what is not there all the time.
    if (memory) give(memory);
}

void *tpc_realloc(void *memory, size_t size) {
    if (!memory) return tpc_malloc(size);
    bool is_block = tpc_is_block(memory);
    size_t class = is_block ? 0 : class_of(memory);
    if (!is_block && (!mine || class == 0 || size > LARGEST)) return realloc(memory, size);
    size_t room = is_block ? tpc_block_size() : room_of(class);
    if (size <= room && size >= (is_block ? TPC_SMALLEST_BLOCK : room / 4)) return memory;
    void *other = tpc_malloc(size);
    if (!other) return NULL;
    memcpy(other, memory, size < room ? size : room);
    tpc_free(memory);
    return other;
}

void *tpc_calloc(size_t count, size_t size) {
    if (!mine || count > LARGEST || size > LARGEST || count * size > LARGEST) return calloc(count, size);
    void *memory = tpc_malloc(count * size);
    return memory ? memset(memory, 0, count * size) : NULL;
}

char *tpc_strdup(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = tpc_malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}
