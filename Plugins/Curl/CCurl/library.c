// SPDX-License-Identifier: Apache-2.0

// libcurl itself: its functions, its memory, and what its OpenSSL and its verbose text report. Uses no other file.

#include "libcurl.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// MARK: Memory.
//
// The memory of libcurl and of the content of transfers comes from malloc, except for large buffers.
//
// libcurl takes a buffer of 128 KiB for each request and frees it at the end, and a reader of content does the same. malloc
// returns memory of this size to the system each time, and the system must clear each page again. So large buffers are blocks of
// one size in one reserved range, in which untouched pages cost nothing.
//
// Blocks save a fifth of the client's CPU for responses of 64 KiB, 64 at once: 0.044 ms instead of 0.056 ms each. The figures are
// medians of seven interleaved rounds with and without `take_block` in `tpc_malloc`.
//
//     scripts/bench peers --only W3 --clients curl
//
// libcurl takes some forty small pieces of memory for a request. malloc still provides these: keeping them for the next request
// saved less than 3 % of the instructions.

enum {
    // A multiple of the page size, but of no larger power of two. Otherwise the same bytes of all blocks compete for the same
    // lines of the processor's caches.
    STRIDE = 65 * 4096,
    COUNT = 1024,
    // The number of free blocks that keep their pages.
    WARM = 64,
    // Smaller memory comes from malloc, because a reader may keep it for long.
    SMALLEST = 49152,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
// The reserved range. Any thread may read it while another one takes the first block.
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

// glibc's calloc does not reuse what the thread has just freed, but malloc does.
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

// MARK: OpenSSL.
//
// The functions of the OpenSSL that libcurl itself is linked to. A process may contain several, and both must accept the same
// files.

enum { ERR_REASON = 0xFFF, PEM_NO_START_LINE = 108 };

static struct {
    void *(*bio_new)(const void *bytes, int count);
    int (*bio_free)(void *bio);
    void *(*read_certificate)(void *bio, void **, void *, void *);
    void *(*read_key)(void *bio, void **, void *, void *password);
    int (*check_key)(void *certificate, void *key);
    void (*certificate_free)(void *);
    void (*key_free)(void *);
    unsigned long (*last_error)(void);
    void (*clear_errors)(void);
} ssl;

static bool is_loaded;

void (*tpc_set_info_callback)(void *, void (*)(const void *, int, int));
static void (*get_protocol)(const void *, const unsigned char **, unsigned *);

static void find_openssl(void *libcurl) {
    *(void **)&tpc_set_info_callback = dlsym(libcurl, "SSL_CTX_set_info_callback");
    *(void **)&get_protocol = dlsym(libcurl, "SSL_get0_alpn_selected");
    const struct {
        const char *name;
        void *function;
    } functions[] = {
        {"BIO_new_mem_buf", &ssl.bio_new},      {"BIO_free", &ssl.bio_free},
        {"PEM_read_bio_X509_AUX", &ssl.read_certificate},
        {"PEM_read_bio_PrivateKey", &ssl.read_key},
        {"X509_check_private_key", &ssl.check_key},
        {"X509_free", &ssl.certificate_free},   {"EVP_PKEY_free", &ssl.key_free},
        {"ERR_peek_last_error", &ssl.last_error},
        {"ERR_clear_error", &ssl.clear_errors},
    };
    is_loaded = true;
    for (size_t index = 0; index < sizeof functions / sizeof functions[0]; index++) {
        void *symbol = dlsym(libcurl, functions[index].name);
        *(void **)functions[index].function = symbol;
        is_loaded &= symbol != NULL;
    }
}

bool tpc_pem_can_read(void) { return is_loaded; }

// Returns the first certificate if the whole text can be read, else NULL.
static void *read_certificates(const void *bytes, size_t count) {
    void *bio = ssl.bio_new(bytes, (int)count), *first = NULL, *next;
    if (!bio) return NULL;
    ssl.clear_errors();
    while ((next = ssl.read_certificate(bio, NULL, NULL, (void *)""))) {
        if (first) ssl.certificate_free(next);
        else first = next;
    }
    bool is_whole = (ssl.last_error() & ERR_REASON) == PEM_NO_START_LINE;
    ssl.clear_errors();
    ssl.bio_free(bio);
    if (is_whole || !first) return first;
    ssl.certificate_free(first);
    return NULL;
}

bool tpc_pem_has_certificates(const void *bytes, size_t count) {
    void *first = read_certificates(bytes, count);
    if (first) ssl.certificate_free(first);
    return first != NULL;
}

bool tpc_pem_fits(const void *certificate, size_t certificate_count, const void *key, size_t key_count,
                  const char *password) {
    void *first = read_certificates(certificate, certificate_count);
    void *bio = first ? ssl.bio_new(key, (int)key_count) : NULL;
    void *own = bio ? ssl.read_key(bio, NULL, NULL, (void *)password) : NULL;
    bool fits = own && ssl.check_key(first, own) == 1;
    if (own) ssl.key_free(own);
    if (bio) ssl.bio_free(bio);
    if (first) ssl.certificate_free(first);
    ssl.clear_errors();
    return fits;
}

const void *tpc_tls_of(CURL *easy) {
    curl_tls_session_info *session = NULL;
    tpc_curl.easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session);
    return session ? session->internals : NULL;
}

bool tpc_tls_is_http2(const void *session) {
    const unsigned char *name = NULL;
    unsigned count = 0;
    if (session && get_protocol) get_protocol(session, &name, &count);
    return count == 2 && memcmp(name, "h2", 2) == 0;
}

bool tpc_tells_http2(void) { return get_protocol != NULL; }

// MARK: The library.

tpc_functions tpc_curl;
bool tpc_polls_paused, tpc_waits_after_refusal;

static curl_version_info_data *info;
static _Thread_local char reason[256];

static bool find(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    if (!symbol) snprintf(reason, sizeof reason, "libcurl has no %s", name);
    *(void **)function = symbol;
    return symbol != NULL;
}

const char *tpc_load(const char *file, unsigned oldest) {
#if defined(__APPLE__)
    const char *names[] = {"/usr/lib/libcurl.4.dylib", "libcurl.4.dylib"};
#else
    const char *names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
#endif
    if (file) names[0] = names[1] = file;
    void *library = NULL;
    for (size_t index = 0; index < 2 && !library; index++) library = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(reason, sizeof reason, "there is no %s", names[0]);
        return reason;
    }
    tpc_functions found;
#define FIND(name, result, arguments) \
    if (!find(library, "curl_" #name, &found.name)) return reason;
    TPC_FUNCTIONS(FIND)
#undef FIND
    curl_version_info_data *version = found.version_info(CURLVERSION_FIRST);
    if (!version || version->version_num < oldest) {
        snprintf(reason, sizeof reason, "libcurl %s is older than %u.%u", version ? version->version : "?", oldest >> 16,
                 oldest >> 8 & 0xFF);
        return reason;
    }
    // If this process already uses libcurl, libcurl keeps its present memory functions.
    int code = found.global_init_mem(CURL_GLOBAL_DEFAULT, tpc_malloc, tpc_free, tpc_realloc, strdup, clear_malloc);
    if (code != 0) {
        snprintf(reason, sizeof reason, "libcurl %s could not be set up", version->version);
        return reason;
    }
    tpc_curl = found;
    info = version;
    if (strncmp(tpc_tls_text(), "OpenSSL/", 8) == 0) find_openssl(library);
    tpc_polls_paused = version->version_num > 0x075801 && version->version_num < 0x080E00;
    tpc_waits_after_refusal = version->version_num >= 0x075800 && version->version_num < 0x080400;
    return NULL;
}

unsigned tpc_version(void) { return info ? info->version_num : 0; }

const char *tpc_version_text(void) { return info ? info->version : ""; }

const char *tpc_tls_text(void) { return info && info->ssl_version ? info->ssl_version : ""; }

int tpc_features(void) {
    int features = info ? info->features : 0;
    return (features & CURL_VERSION_SSL ? TPC_HAS_TLS : 0) | (features & CURL_VERSION_HTTP2 ? TPC_HAS_HTTP2 : 0)
         | (features & CURL_VERSION_UNIX_SOCKETS ? TPC_HAS_UNIX_SOCKETS : 0);
}

const char *tpc_error_text(int code) { return tpc_curl.easy_strerror(code); }

// MARK: Handles, lists and lines.

enum { RECEIVE_BUFFER = 131072, SEND_BUFFER = 262144 };

// The options that all requests have in common.
CURL *tpc_easy_create(void) {
    CURL *easy = tpc_curl.easy_init();
    if (!easy) return NULL;
    int (*set)(CURL *, int, ...) = tpc_curl.easy_setopt;
    set(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    set(easy, CURLOPT_NOSIGNAL, 1L);
    set(easy, CURLOPT_BUFFERSIZE, (long)RECEIVE_BUFFER);
    set(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)SEND_BUFFER);
    set(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    // The target is sent exactly as it was checked.
    set(easy, CURLOPT_PATH_AS_IS, 1L);
    set(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    // Proxies come from the configuration, never from the environment.
    set(easy, CURLOPT_PROXY, "");
    set(easy, TPC_NO_PROXY, "");
    set(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    // Ending a transfer does not wait for the thread that resolves its host.
    set(easy, CURLOPT_QUICK_EXIT, 1L);
    return easy;
}

// One block of memory holds the nodes, then the texts.
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

// libcurl frees the list, so libcurl's own function must add to it.
bool tpc_trailer_add(void *list, const char *line) {
    struct curl_slist **place = list;
    struct curl_slist *longer = tpc_curl.slist_append(*place, line);
    if (longer) *place = longer;
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

// The text also quotes fields of the caller, so only the beginning of a line is compared.
tpc_line tpc_read_line(const char *text, size_t count, int64_t *number) {
    const char *at = text, *end = text + count;
    if (skip(&at, end, "Using Stream ID: ")) {  // 7.88
        *number = skip_number(&at, end);
        return TPC_LINE_STREAM;
    }
    if (skip(&at, end, "[HTTP/2] [")) {
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
    if (!skip(&at, end, "HTTP/2 stream ")) return TPC_LINE_OTHER;
    skip_number(&at, end);
    return skip(&at, end, " was not closed cleanly: HTTP_1_1_REQUIRED") ? TPC_LINE_NEEDS_HTTP1 : TPC_LINE_OTHER;
}
