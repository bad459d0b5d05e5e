// SPDX-License-Identifier: Apache-2.0

// Declares memory functions, reports of the TLS library, and the used part of libcurl's interface, which is stable since 7.80.
// The files are library.c, tls.c and symbols.c. The interface is written by hand and needs no headers of libcurl. The functions
// are members of a table, because the library is loaded at run time. A program with the trait LinkedLibcurl is linked with
// libcurl instead.

#pragma once

#include "CTurnpikeCurl.h"
#include <sys/socket.h>

typedef void CURL;
typedef void CURLM;
typedef void CURLSH;
typedef void CURLU;

struct curl_slist {
    char *data;
    struct curl_slist *next;
};

struct curl_blob {
    void *data;
    size_t len;
    unsigned flags;
};

struct curl_sockaddr {
    int family;
    int socktype;
    int protocol;
    unsigned addrlen;
    struct sockaddr addr;
};

typedef struct {
    int msg;
    CURL *easy_handle;
    union {
        void *whatever;
        int result;
    } data;
} CURLMsg;

// The used members and all earlier members, which libcurl 7.80 has.
typedef struct {
    int age;
    const char *version;
    unsigned version_num;
    const char *host;
    int features;
    const char *ssl_version;
    long ssl_version_num;
    const char *libz_version;
    const char *const *protocols;
    const char *ares;
    int ares_num;
    const char *libidn;
    int iconv_ver_num;
    const char *libssh_version;
    unsigned brotli_ver_num;
    const char *brotli_version;
    // Available since age 5.
    unsigned nghttp2_ver_num;
    const char *nghttp2_version;
    const char *quic_version;
} curl_version_info_data;

enum {
    CURL_GLOBAL_DEFAULT = 3,
    CURLVERSION_FIRST = 0,
    CURL_VERSION_SSL = 1 << 2,
    CURL_VERSION_HTTP2 = 1 << 16,
    CURL_VERSION_UNIX_SOCKETS = 1 << 19,
    CURL_VERSION_HTTP3 = 1 << 25,

    CURLMSG_DONE = 1,
    CURL_POLL_IN = 1,
    CURL_POLL_OUT = 2,
    CURL_POLL_REMOVE = 4,
    CURL_SOCKET_TIMEOUT = -1,
    CURL_CSELECT_IN = 1,
    CURL_CSELECT_OUT = 2,
    CURL_CSELECT_ERR = 4,

    CURL_WRITEFUNC_PAUSE = 0x10000001,
    CURL_READFUNC_PAUSE = 0x10000001,
    CURL_READFUNC_ABORT = 0x10000000,
    CURL_SEEKFUNC_FAIL = 1,
    CURL_PREREQFUNC_OK = 0,
    CURL_PREREQFUNC_ABORT = 1,
    CURL_TRAILERFUNC_OK = 0,
    CURL_TRAILERFUNC_ABORT = 1,
    CURL_BLOB_NOCOPY = 0,
    CURL_BLOB_COPY = 1,
    CURLHEADER_SEPARATE = 1,
    CURLPROTO_HTTP = 1,
    CURLPROTO_HTTPS = 2,
    CURLPIPE_MULTIPLEX = 2,
    CURLSHOPT_SHARE = 1,
    CURL_LOCK_DATA_SSL_SESSION = 4,
    CURL_HTTP_VERSION_2 = 3,
    CURLUPART_URL = 0,
    CURLU_PATH_AS_IS = 1 << 4,
    CURLU_DISALLOW_USER = 1 << 5,
    CURLE_OUT_OF_MEMORY = 27,
};

enum {
    CURLOPT_WRITEDATA = 10001,
    CURLOPT_URL = 10002,
    CURLOPT_CURLU = 10282,
    CURLOPT_READDATA = 10009,
    CURLOPT_ERRORBUFFER = 10010,
    CURLOPT_WRITEFUNCTION = 20011,
    CURLOPT_READFUNCTION = 20012,
    CURLOPT_HTTP_CONTENT_DECODING = 158,
    CURLOPT_HTTPHEADER = 10023,
    CURLOPT_HEADERDATA = 10029,
    CURLOPT_CUSTOMREQUEST = 10036,
    CURLOPT_NOBODY = 44,
    CURLOPT_VERBOSE = 41,
    CURLOPT_DEBUGFUNCTION = 20094,
    CURLOPT_DEBUGDATA = 10095,
    CURLOPT_UPLOAD = 46,
    CURLOPT_HEADERFUNCTION = 20079,
    CURLOPT_FRESH_CONNECT = 74,
    CURLOPT_HTTPGET = 80,
    CURLOPT_BUFFERSIZE = 98,
    CURLOPT_NOSIGNAL = 99,
    CURLOPT_PRIVATE = 10103,
    CURLOPT_SHARE = 10100,
    CURLOPT_INFILESIZE_LARGE = 30115,
    CURLOPT_SEEKFUNCTION = 20167,
    CURLOPT_SEEKDATA = 10168,
    CURLOPT_OPENSOCKETFUNCTION = 20163,
    CURLOPT_OPENSOCKETDATA = 10164,
    CURLOPT_PROTOCOLS = 181,
    CURLOPT_CLOSESOCKETFUNCTION = 20208,
    CURLOPT_CLOSESOCKETDATA = 10209,
    CURLOPT_RESOLVER_START_FUNCTION = 20272,
    CURLOPT_RESOLVER_START_DATA = 10273,
    CURLOPT_HEADEROPT = 229,
    CURLOPT_PATH_AS_IS = 234,
    CURLOPT_REQUEST_TARGET = 10266,
    CURLOPT_SUPPRESS_CONNECT_HEADERS = 265,
    CURLOPT_DISALLOW_USERNAME_IN_URL = 278,
    CURLOPT_UPLOAD_BUFFERSIZE = 280,
    CURLOPT_SSL_CTX_FUNCTION = 20108,
    CURLOPT_SSL_CTX_DATA = 10109,
    CURLOPT_TRAILERFUNCTION = 20283,
    CURLOPT_TRAILERDATA = 10284,
    CURLOPT_PREREQFUNCTION = 20312,
    CURLOPT_PREREQDATA = 10313,
    CURLOPT_QUICK_EXIT = 322,
    CURLOPT_PROXY = 10004,
    CURLOPT_RESOLVE = 10203,
    CURLOPT_CONNECT_TO = 10243,
    CURLOPT_ADDRESS_SCOPE = 171,

    CURLMOPT_SOCKETFUNCTION = 20001,
    CURLMOPT_SOCKETDATA = 10002,
    CURLMOPT_PIPELINING = 3,
    CURLMOPT_TIMERFUNCTION = 20004,
    CURLMOPT_TIMERDATA = 10005,
    CURLMOPT_MAXCONNECTS = 6,
    CURLMOPT_MAX_HOST_CONNECTIONS = 7,
    CURLMOPT_MAX_TOTAL_CONNECTIONS = 13,
    CURLMOPT_MAX_CONCURRENT_STREAMS = 16,
    CURLMOPT_QUICK_EXIT = 21,

    CURLINFO_TEXT = 0,
    CURLINFO_PRIVATE = 0x100000 + 21,
    CURLINFO_PRIMARY_IP = 0x100000 + 32,
    CURLINFO_HTTP_CONNECTCODE = 0x200000 + 22,
    CURLINFO_PROXY_ERROR = 0x200000 + 59,
    CURLINFO_NUM_CONNECTS = 0x200000 + 26,
    CURLINFO_HTTP_VERSION = 0x200000 + 46,
    // Available since libcurl 8.7.
    CURLINFO_USED_PROXY = 0x200000 + 66,
    CURLINFO_CONTENT_LENGTH_DOWNLOAD_T = 0x600000 + 15,
    CURLINFO_TLS_SSL_PTR = 0x400000 + 45,
    CURLINFO_PRETRANSFER_TIME_T = 0x600000 + 53,
    CURLINFO_STARTTRANSFER_TIME_T = 0x600000 + 54,
    CURLINFO_NAMELOOKUP_TIME_T = 0x600000 + 51,
    CURLINFO_CONNECT_TIME_T = 0x600000 + 52,
    CURLINFO_APPCONNECT_TIME_T = 0x600000 + 56,
};

typedef struct {
    int backend;
    void *internals;
} curl_tls_session_info;

// The functions with results and arguments. In libcurl, the names begin with `curl_`. Variadic
// functions are declared as variadic, because some machines pass variadic arguments differently.
#define TPC_FUNCTIONS(F) \
    F(global_init_mem, int, (long, void *(*)(size_t), void (*)(void *), void *(*)(void *, size_t), char *(*)(const char *), \
                             void *(*)(size_t, size_t))) \
    F(version_info, curl_version_info_data *, (int)) \
    F(easy_strerror, const char *, (int)) \
    F(easy_init, CURL *, (void)) \
    F(easy_cleanup, void, (CURL *)) \
    F(easy_setopt, int, (CURL *, int, ...)) \
    F(easy_getinfo, int, (CURL *, int, ...)) \
    F(easy_pause, int, (CURL *, int)) \
    F(easy_recv, int, (CURL *, void *, size_t, size_t *)) \
    F(easy_send, int, (CURL *, const void *, size_t, size_t *)) \
    F(url, CURLU *, (void)) \
    F(url_set, int, (CURLU *, int, const char *, unsigned)) \
    F(url_cleanup, void, (CURLU *)) \
    F(slist_append, struct curl_slist *, (struct curl_slist *, const char *)) \
    F(multi_init, CURLM *, (void)) \
    F(multi_cleanup, int, (CURLM *)) \
    F(multi_setopt, int, (CURLM *, int, ...)) \
    F(multi_add_handle, int, (CURLM *, CURL *)) \
    F(multi_remove_handle, int, (CURLM *, CURL *)) \
    F(multi_socket_action, int, (CURLM *, int, int, int *)) \
    F(multi_info_read, CURLMsg *, (CURLM *, int *)) \
    F(share_init, CURLSH *, (void)) \
    F(share_setopt, int, (CURLSH *, int, ...)) \
    F(share_cleanup, int, (CURLSH *))

#define TPC_MEMBER(name, result, arguments) result(*name) arguments;

// OpenSSL's functions for PEM.
typedef struct {
    bool is_usable;
    void *(*bio_new)(const void *bytes, int count);
    int (*bio_free)(void *bio);
    void *(*read_certificate)(void *bio, void **, void *, void *);
    void *(*read_key)(void *bio, void **, void *, void *password);
    int (*check_key)(void *certificate, void *key);
    void (*certificate_free)(void *);
    void (*key_free)(void *);
    unsigned long (*last_error)(void);
    void (*clear_errors)(void);
} tpc_pem;

struct tpc_library {
    TPC_FUNCTIONS(TPC_MEMBER)
    void *file;
    const curl_version_info_data *info;
    // Whether libcurl may still wait for the socket of a paused transfer, and read from the socket without limit. libcurl 8.5
    // does this on a new HTTP/1 connection, but 7.88 and 8.14 do not.
    bool polls_paused;
    // Whether libcurl tries the next address of a host after a refusal only when a timer fires, after half of the connect
    // timeout. libcurl 7.88 to 8.3 do this.
    bool waits_after_refusal;
    // Up to 7.86, OpenSSL writes to sockets itself, and does not prevent SIGPIPE.
    bool raises_sigpipe;
    // NULL unless libcurl uses this TLS library, as a shared library.
    void (*set_info_callback)(void *context, void (*)(const void *session, int where, int value));
    void (*openssl_protocol)(const void *session, const unsigned char **, unsigned *);
    int (*gnutls_protocol)(const void *session, void *name);
    tpc_pem pem;
};

/// Returns memory for libcurl and for the content of transfers, to be freed with `tpc_free`.
void *tpc_malloc(size_t size);
void *tpc_realloc(void *memory, size_t size);
/// The size of the largest buffers that are cheap to allocate and free.
size_t tpc_block_size(void);

/// Opens a library. In a linked program, the name `linked` means the program itself, and there are no other libraries.
void *tpc_open(const char *name);
/// Returns the address of a function of a library or of the libraries to which the library is linked, or NULL.
void *tpc_symbol(void *file, const char *name);

// Reports of libcurl's TLS library that libcurl does not pass on.

void tpc_find_tls(tpc_library *library);
/// Returns the TLS connection of a transfer, or NULL if unknown, as over HTTP/3. Open connections have different addresses.
const void *tpc_tls_of(const tpc_library *library, CURL *easy);
/// Returns whether a TLS connection has agreed on a protocol (RFC 7301), or false if unknown.
bool tpc_tls_speaks(const tpc_library *library, const void *session, const char *protocol);
bool tpc_tells_version(const tpc_library *library);

/// Creates a handle with the options that all requests have in common. Returns NULL if there is no memory.
CURL *tpc_easy_create(const tpc_library *library);
/// Copies lines that end with NUL into a list. The list is one block of memory for `free`, or NULL without lines. Returns 0 or
/// libcurl's code for no memory.
int tpc_list_create(struct curl_slist **list, const char *lines, size_t count);

/// The argument of `tpc_trailer_add`.
typedef struct {
    const tpc_library *library;
    struct curl_slist **list;
} tpc_trailers;

/// The kind of a line in the verbose text about HTTP/2 or HTTP/3. The kinds are the number of the stream, the last stream that
/// the server will answer, a refused stream, a request for HTTP/1.1, and a connection that libcurl has closed because the
/// server has violated HTTP/3.
typedef enum {
    TPC_LINE_OTHER, TPC_LINE_STREAM, TPC_LINE_GOAWAY, TPC_LINE_REFUSED, TPC_LINE_NEEDS_HTTP1, TPC_LINE_INVALID
} tpc_line;
tpc_line tpc_read_line(const char *text, size_t count, int64_t *number);
