// SPDX-License-Identifier: Apache-2.0

// The functions, the memory and the verbose text of libcurl. Uses tls.c and symbols.c.

#include "libcurl.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// MARK: Memory.
//
// The memory of libcurl and of the content of transfers comes from malloc, except for large buffers.
//
// For each request, libcurl allocates a buffer of 128 KiB and frees the buffer at the end. A reader of content also allocates
// and frees such a buffer. malloc returns such a buffer to the system each time, and the system must clear each page again.
// Large buffers are therefore blocks of one size in a reserved range, in which untouched pages cost nothing.
//
// Blocks save a fifth of the client's CPU for responses of 64 KiB, 64 at once, with 0.044 ms instead of 0.056 ms each (medians
// of seven interleaved rounds with and without `take_block` in `tpc_malloc`; `scripts/bench peers --only W3 --clients curl`).
// malloc provides the forty small pieces of memory of a request, because reusing them saves less than 3 % of the instructions.

enum {
    // A multiple of the page size, but not of a larger power of two, because the same bytes of all
    // blocks would compete for the same lines of the processor's caches.
    STRIDE = 65 * 4096,
    COUNT = 1024,
    // The number of free blocks that keep their pages.
    WARM = 64,
    // Smaller memory comes from malloc, because a reader may keep the memory for long.
    SMALLEST = 49152,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
// Any thread may read the range while another thread takes the first block.
static _Atomic uintptr_t range_start, range_bytes;
// The free blocks. Blocks in `cold` have no pages, and blocks in `warm` keep their pages.
static unsigned short cold[COUNT], warm[WARM];
static int cold_count, warm_count;

static void reserve(void) {
#if defined(__SANITIZE_ADDRESS__) || (defined(__has_feature) && __has_feature(address_sanitizer))
    // The sanitizer checks only memory from malloc.
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

// In glibc, calloc does not reuse memory that the thread has just freed, but malloc does.
static void *clear_malloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    void *memory = tpc_malloc(bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
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

// MARK: The library.

// The usual library, and perhaps another library for HTTP/3. The libraries are never unloaded.
static tpc_library *loaded[2];
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local char reason[256];

static bool find(void *library, const char *name, void *function) {
    void *symbol = tpc_symbol(library, name);
    if (!symbol) snprintf(reason, sizeof reason, "libcurl has no %s", name);
    *(void **)function = symbol;
    return symbol != NULL;
}

// Returns NULL and sets `reason` if the library cannot be used.
static tpc_library *set_up(void *file, unsigned oldest, int features) {
    tpc_library found = {.file = file};
#define FIND(name, result, arguments) \
    if (!find(file, "curl_" #name, &found.name)) return NULL;
    TPC_FUNCTIONS(FIND)
#undef FIND
    const curl_version_info_data *info = found.info = found.version_info(CURLVERSION_FIRST);
    if (!info || info->version_num < oldest) {
        snprintf(reason, sizeof reason, "libcurl %s is older than %u.%u", info ? info->version : "?", oldest >> 16,
                 oldest >> 8 & 0xFF);
        return NULL;
    }
    tpc_find_tls(&found);
    if (features & ~tpc_features(&found)) {
        snprintf(reason, sizeof reason, "libcurl %s %s has no HTTP/3", info->version, tpc_tls_text(&found));
        return NULL;
    }
    // If this process already uses libcurl, libcurl keeps the existing memory functions.
    int code = found.global_init_mem(CURL_GLOBAL_DEFAULT, tpc_malloc, tpc_free, tpc_realloc, strdup, clear_malloc);
    tpc_library *library = code == 0 ? malloc(sizeof *library) : NULL;
    if (!library) {
        snprintf(reason, sizeof reason, "libcurl %s could not be set up", info->version);
        return NULL;
    }
    found.polls_paused = info->version_num > 0x075801 && info->version_num < 0x080E00;
    found.raises_sigpipe = info->version_num < 0x075700;
    found.waits_after_refusal = info->version_num >= 0x075800 && info->version_num < 0x080400;
    *library = found;
    return library;
}

// A library that is loaded already is not set up a second time.
static tpc_library *find_library(void *file, unsigned oldest, int features) {
    int count = 0;
    for (; count < 2 && loaded[count]; count++) {
        tpc_library *library = loaded[count];
        if (library->file == file && !(features & ~tpc_features(library)) && library->info->version_num >= oldest) return library;
    }
    tpc_library *library = set_up(file, oldest, features);
    if (library && count < 2) loaded[count] = library;
    return library;
}

const tpc_library *tpc_load(const char *name, unsigned oldest, int features) {
    void *file = tpc_open(name);
    if (!file) {
        snprintf(reason, sizeof reason, "there is no %s", name);
        return NULL;
    }
    pthread_mutex_lock(&loading);
    tpc_library *library = find_library(file, oldest, features);
    pthread_mutex_unlock(&loading);
    return library;
}

const char *tpc_load_reason(void) { return reason; }

unsigned tpc_version(const tpc_library *library) { return library->info->version_num; }

const char *tpc_version_text(const tpc_library *library) { return library->info->version; }

const char *tpc_tls_text(const tpc_library *library) {
    return library->info->ssl_version ? library->info->ssl_version : "";
}

// Other implementations of QUIC are experimental in libcurl or were removed.
static bool has_http3(const tpc_library *library) {
    const curl_version_info_data *info = library->info;
    bool has_quic = info->features & CURL_VERSION_HTTP3 && info->age >= 5 && info->quic_version;
    return has_quic && strncmp(info->quic_version, "ngtcp2/", 7) == 0 && tpc_tells_version(library);
}

int tpc_features(const tpc_library *library) {
    int features = library->info->features;
    return (features & CURL_VERSION_SSL ? TPC_HAS_TLS : 0) | (features & CURL_VERSION_HTTP2 ? TPC_HAS_HTTP2 : 0)
         | (features & CURL_VERSION_UNIX_SOCKETS ? TPC_HAS_UNIX_SOCKETS : 0) | (has_http3(library) ? TPC_HAS_HTTP3 : 0);
}

// MARK: SIGPIPE.

static sigset_t sigpipe(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    return signals;
}

void tpc_hold_sigpipe(tpc_held_sigpipe *held, bool is_needed) {
    held->is_needed = is_needed;
    sigset_t signals = sigpipe();
    if (is_needed) pthread_sigmask(SIG_BLOCK, &signals, &held->mask);
}

void tpc_release_sigpipe(const tpc_held_sigpipe *held) {
    if (!held->is_needed) return;
#if defined(__linux__)
    // A signal that the thread blocked before is not taken.
    if (!sigismember(&held->mask, SIGPIPE)) {
        sigset_t signals = sigpipe();
        while (sigtimedwait(&signals, NULL, &(struct timespec){0}) < 0 && errno == EINTR) {}
    }
#endif
    pthread_sigmask(SIG_SETMASK, &held->mask, NULL);
}

// MARK: Handles, lists and lines.

enum { RECEIVE_BUFFER = 131072, SEND_BUFFER = 262144 };

CURL *tpc_easy_create(const tpc_library *library) {
    CURL *easy = library->easy_init();
    if (!easy) return NULL;
    int (*set)(CURL *, int, ...) = library->easy_setopt;
    set(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    set(easy, CURLOPT_NOSIGNAL, 1L);
    set(easy, CURLOPT_BUFFERSIZE, (long)RECEIVE_BUFFER);
    set(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)SEND_BUFFER);
    set(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    // The target is sent unchanged after the check.
    set(easy, CURLOPT_PATH_AS_IS, 1L);
    set(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    // Proxies come from the configuration, never from the environment.
    set(easy, CURLOPT_PROXY, "");
    set(easy, TPC_NO_PROXY, "");
    set(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    // The end of a transfer does not wait for the thread that resolves the host.
    set(easy, CURLOPT_QUICK_EXIT, 1L);
    return easy;
}

// One block of memory contains the nodes, and the texts after the nodes.
int tpc_list_create(struct curl_slist **list, const char *lines, size_t count) {
    *list = NULL;
    size_t number = 0;
    for (size_t at = 0; at < count; at += strlen(lines + at) + 1) number++;
    if (number == 0) return 0;
    struct curl_slist *nodes = malloc(number * sizeof *nodes + count);
    if (!nodes) return CURLE_OUT_OF_MEMORY;
    char *text = (char *)(nodes + number);
    memcpy(text, lines, count);
    for (size_t index = 0; index < number; index++) {
        nodes[index] = (struct curl_slist){text, index + 1 < number ? &nodes[index + 1] : NULL};
        text += strlen(text) + 1;
    }
    *list = nodes;
    return 0;
}

// libcurl frees the list. libcurl's own function must therefore add the line.
bool tpc_trailer_add(void *trailers, const char *line) {
    tpc_trailers *this = trailers;
    struct curl_slist *longer = this->library->slist_append(*this->list, line);
    if (longer) *this->list = longer;
    return longer != NULL;
}

static bool skip(const char **at, const char *end, const char *words) {
    size_t length = strlen(words);
    if ((size_t)(end - *at) < length || memcmp(*at, words, length) != 0) return false;
    *at += length;
    return true;
}

static int64_t skip_number(const char **at, const char *end) {
    int64_t number = 0;
    for (; *at < end && **at >= '0' && **at <= '9' && number < INT32_MAX; (*at)++) number = 10 * number + **at - '0';
    return number;
}

// Only the beginning of a line is compared, because the text also contains fields of the caller.
tpc_line tpc_read_line(const char *text, size_t count, int64_t *number) {
    const char *at = text, *end = text + count;
    if (skip(&at, end, "Using Stream ID: ")) {  // 7.88
        *number = skip_number(&at, end);
        return TPC_LINE_STREAM;
    }
    if (skip(&at, end, "[HTTP/2] [") || skip(&at, end, "[HTTP/3] [")) {
        *number = skip_number(&at, end);
        return skip(&at, end, "] OPENED stream") ? TPC_LINE_STREAM : TPC_LINE_OTHER;
    }
    if (skip(&at, end, "recveived GOAWAY, error=") || skip(&at, end, "received GOAWAY, error=")) {
        skip_number(&at, end);
        if (!skip(&at, end, ", last_stream=")) return TPC_LINE_OTHER;
        *number = skip_number(&at, end);
        return TPC_LINE_GOAWAY;
    }
    if (skip(&at, end, "REFUSED_STREAM, retrying")) return TPC_LINE_REFUSED;
    if (skip(&at, end, "ngtcp2_conn_writev_stream returned error: ERR_CLOSING")) return TPC_LINE_INVALID;
    if (!skip(&at, end, "HTTP/2 stream ") && !skip(&at, end, "HTTP/3 stream ")) return TPC_LINE_OTHER;
    skip_number(&at, end);
    if (skip(&at, end, " refused by server")) return TPC_LINE_REFUSED;  // HTTP/2: from 8.20 on
    bool needs_http1 = skip(&at, end, " was not closed cleanly: HTTP_1_1_REQUIRED")  // before 8.20
        || skip(&at, end, " reset by server (error 0xd HTTP_1_1_REQUIRED");
    return needs_http1 ? TPC_LINE_NEEDS_HTTP1 : TPC_LINE_OTHER;
}
