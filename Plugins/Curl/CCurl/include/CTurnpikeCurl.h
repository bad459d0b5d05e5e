// SPDX-License-Identifier: Apache-2.0

// The interface between Swift and libcurl, with the library, a loop, and transfers in the loop.
//
// libcurl runs callbacks inside its own functions, many times for one exchange. The callbacks are in C and only collect data.
// After the callbacks, the loop returns each transfer with news, and Swift decides about the transfer.
//
// One thread at a time may use a loop and its transfers. A comment marks the functions that any thread may call.

#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// libcurl 7.80 is the first version with a callback before each send of a request.
enum { TPC_OLDEST = 0x075000 };
typedef struct tpc_library tpc_library;
enum { TPC_HAS_TLS = 1, TPC_HAS_HTTP2 = 2, TPC_HAS_UNIX_SOCKETS = 4, TPC_HAS_HTTP3 = 8 };
/// Loads libcurl from a file, or returns the loaded library. If the library is too old or lacks a feature, returns NULL.
/// In this case, `tpc_load_reason` returns the reason on this thread.
const tpc_library *tpc_load(const char *name, unsigned oldest, int features);
const char *tpc_load_reason(void);
/// The version as 0xMMmmpp.
unsigned tpc_version(const tpc_library *library);
const char *tpc_version_text(const tpc_library *library);
const char *tpc_tls_text(const tpc_library *library);
/// TPC_HAS_… bits.
int tpc_features(const tpc_library *library);
/// Returns whether libcurl uses OpenSSL and reports the TLS data that HTTP/2 needs.
bool tpc_has_openssl(const tpc_library *library);

/// The signal mask of a thread before `tpc_hold_sigpipe`.
typedef struct {
    bool is_needed;
    sigset_t mask;
} tpc_held_sigpipe;
/// Until `tpc_release_sigpipe`, a write of this thread to a closed connection raises no SIGPIPE. Does nothing if not needed.
void tpc_hold_sigpipe(tpc_held_sigpipe *held, bool is_needed);
void tpc_release_sigpipe(const tpc_held_sigpipe *held);
/// Creates an empty file in memory. Returns its descriptor, or -1 if the system has no such files.
int tpc_memory_file(void);

// PEM, read by the OpenSSL that libcurl uses.

bool tpc_pem_can_read(const tpc_library *library);
/// Returns whether bytes are complete certificates.
bool tpc_pem_has_certificates(const tpc_library *library, const void *bytes, size_t count);
/// Returns whether bytes are certificates, and other bytes are the private key of the first certificate.
bool tpc_pem_fits(const tpc_library *library, const void *certificate, size_t certificate_count, const void *key,
                  size_t key_count, const char *password);

typedef struct tpc_loop tpc_loop;
typedef struct tpc_transfer tpc_transfer;

typedef struct tpc_limits {
    long idle_connections;
    long connections_per_host;
    long connections;
    long streams;
    /// The longest unused time of a connection in milliseconds, and the longest time of one `tpc_loop_poll` in nanoseconds.
    int64_t unused_time, busy_polling;
    /// Whether handles share TLS sessions, which is needed if each handle serves only one transfer.
    bool shares_sessions;
} tpc_limits;

tpc_loop *tpc_loop_create(const tpc_library *library, const tpc_limits *limits);
/// Closes all connections. All transfers must have been freed, and no thread may wait. Later wake-ups have no effect.
void tpc_loop_close(tpc_loop *loop);
void tpc_loop_free(tpc_loop *loop);
/// Frees the descriptors for a loop's waits, and the loop's table of sockets. libcurl keeps the connections. No thread may wait
/// now or later.
void tpc_loop_end_waiting(tpc_loop *loop);
/// Runs a function on a new thread, which no thread joins. Returns false if there is no thread.
bool tpc_start_thread(size_t stack, void *(*run)(void *), void *context);
/// Makes the current thread the waiting thread, and sets the thread's name of at most 15 bytes.
void tpc_loop_enter(tpc_loop *loop, const char *name);
/// Returns whether the current thread is the waiting thread. Any thread may call this function at any time.
bool tpc_loop_is_here(tpc_loop *loop);

/// Ends a wait. Any thread may call this function at any time.
void tpc_loop_wakeup(tpc_loop *loop);
/// Waits for sockets, a wake-up or the timeout (-1 for none). No other thread may poll the loop during the wait.
void tpc_loop_wait(tpc_loop *loop, int milliseconds);
/// Waits only for a wake-up or the timeout, while other threads may poll the sockets.
void tpc_loop_wait_for_wakeup(tpc_loop *loop, int milliseconds);

/// Within an iteration, polls the sockets without sleeping, for at most `busy_polling`, and lets libcurl handle the events.
/// Returns false without events. On a thread that belongs to another loop, the function does not poll.
bool tpc_loop_poll(tpc_loop *loop);
/// Returns whether recent polls were successful.
bool tpc_loop_may_poll(tpc_loop *loop);
/// Ends the current or the next poll. Any thread may call this function at any time.
void tpc_loop_interrupt_poll(tpc_loop *loop);
/// Cancels an interrupt that no poll has used.
void tpc_loop_clear_interrupt(tpc_loop *loop);

/// Returns whether libcurl waits for no socket. After the end of all transfers, libcurl may still wait for a socket.
bool tpc_loop_is_idle(tpc_loop *loop);
/// Begins an iteration on this thread. No other thread may use the loop until the iteration ends.
void tpc_loop_begin_iteration(tpc_loop *loop);
void tpc_loop_end_iteration(tpc_loop *loop);
/// Lets libcurl handle the events of the last wait.
void tpc_loop_act(tpc_loop *loop);
void tpc_loop_run_timers(tpc_loop *loop);
/// Returns whether an address has refused a connection since the last call, and libcurl waits for a timer before the next
/// address of the host (7.88 to 8.3). If true, `tpc_transfer_nudge` makes a connecting transfer continue.
bool tpc_loop_take_refusal(tpc_loop *loop);
/// The time of the next timer in milliseconds of `tpc_loop_now`, or INT64_MAX for never.
int64_t tpc_loop_due(tpc_loop *loop);
int64_t tpc_loop_now(void);
/// The milliseconds until a time of `tpc_loop_now`, or -1 for never.
int tpc_loop_timeout(int64_t due);
/// Returns the next transfer with news, or NULL. A transfer is returned again only after more news.
tpc_transfer *tpc_loop_next_ready(tpc_loop *loop);

/// Receives the events of a loop's connections, within iterations. The argument `transfer` is the owner of a transfer.
typedef struct tpc_pool_watcher {
    /// The first argument of the functions, or NULL without a watcher.
    void *watcher;
    /// A socket was created for a transfer. The address is an IP address, or the path of a Unix socket with port 0.
    void (*opening)(void *watcher, void *transfer, int descriptor, const char *address, int port);
    /// A request is about to be sent from a local port to an IP address and port. The local port is 0 for a Unix socket. The
    /// version of HTTP is 1, 2 or 3, or 0 if unknown.
    void (*sending)(void *watcher, void *transfer, int local_port, const char *address, int port, int version);
    /// libcurl waits for the Unix socket on which a request was sent.
    void (*waiting)(void *watcher, void *transfer, int descriptor);
    void (*ended)(void *watcher, void *transfer);
    void (*closed)(void *watcher, int descriptor);
} tpc_pool_watcher;

/// Sets the watcher. Call this function before the loop has a transfer.
void tpc_loop_watch(tpc_loop *loop, const tpc_pool_watcher *watcher);
/// Returns the local port of a socket, or 0 for a Unix socket or an unknown port.
int tpc_local_port(int descriptor);

/// Copies at most `room` bytes of content. Returns the number of bytes, 0 at the end, or one of the following values.
enum { TPC_READ_WAIT = -1, TPC_READ_FAIL = -2 };
typedef long (*tpc_read)(void *owner, char *bytes, size_t room);
/// Returns whether the rule of the request allows a connection to an address of 4 bytes (IPv4) or 16 bytes (IPv6).
typedef bool (*tpc_judge)(void *owner, const unsigned char *address, size_t count);
/// Adds the trailer lines of the request with `tpc_trailer_add`. Returns false after a failure.
typedef bool (*tpc_trail)(void *owner, void *trailers);
bool tpc_trailer_add(void *trailers, const char *line);

typedef struct tpc_buffer {
    char *bytes;
    size_t count, capacity;
} tpc_buffer;

/// The next part of the response.
typedef enum tpc_phase {
    TPC_PHASE_HEAD,
    /// The final head is complete.
    TPC_PHASE_BODY,
    /// A line of the trailer section has arrived.
    TPC_PHASE_TRAILERS,
} tpc_phase;

/// The cause of a failure that libcurl's code does not contain.
typedef enum tpc_cause {
    TPC_CAUSE_NONE,
    TPC_CAUSE_TOO_LARGE,
    /// libcurl would have sent the request again after the head, and therefore drops the content of the response.
    TPC_CAUSE_SKIPPED,
    TPC_CAUSE_NO_DESCRIPTORS,
    /// The server has certainly not acted on the last send (RFC 9113 §8.7), or the request was not sent because the connection
    /// had ended or had unrequested bytes.
    TPC_CAUSE_REFUSED,
    /// The request's rule has refused each address of the host.
    TPC_CAUSE_ADDRESS,
    /// A reused connection ended during the request, before a byte of a response. libcurl may not have ended the transfer yet.
    TPC_CAUSE_LOST,
    /// The server requires HTTP/1.1 for this request (HTTP_1_1_REQUIRED, RFC 9113 §7). The transfer may not have ended yet.
    TPC_CAUSE_NEEDS_HTTP1,
} tpc_cause;

/// The bits of `paused`, with libcurl's values.
enum { TPC_PAUSE_RECEIVING = 1, TPC_PAUSE_SENDING = 4 };
enum { TPC_RUNNING = -1 };

struct tpc_transfer {
    void *owner;
    /// Memory that libcurl refers to. The end of the transfer does not free this memory.
    void *trust;
    tpc_phase phase;
    int status;
    /// The received lines of the final head, unread content, and the received trailer lines.
    tpc_buffer head, body, trailers;
    /// The total number of received content bytes.
    int64_t received;
    /// The paused directions as TPC_PAUSE_… bits.
    int paused;
    /// libcurl's code after the end of the transfer, or TPC_RUNNING.
    int result;
    tpc_cause cause;
    /// The number of times that the request was about to be sent, at most 1.
    int sends;
    /// Whether the last send used a connection that had served another request.
    bool is_reused;
    /// Whether the connection of the last send is known to use HTTP/2.
    bool is_http2;
    /// Whether the connection of the last send uses HTTP/3.
    bool is_http3;
    char error[256];
};

/// Creates a transfer that does not decode content. Returns NULL if there is no memory.
tpc_transfer *tpc_transfer_create(tpc_loop *loop, tpc_read read, tpc_trail trail, tpc_judge judge);
void tpc_transfer_free(tpc_transfer *transfer);

enum {
    TPC_HTTP_VERSION = 84,
    TPC_CONNECT_TIMEOUT_MS = 156,
    TPC_MAX_AGE_CONNECTION = 288,
    /// The time in seconds for which libcurl caches the addresses of a name.
    TPC_DNS_CACHE_TIMEOUT = 92,
    /// Whether libcurl tries the addresses of a name in random order.
    TPC_DNS_SHUFFLE_ADDRESSES = 275,
    /// The age in seconds after which a connection is not used again.
    TPC_MAX_LIFETIME_CONNECTION = 314,
    TPC_HAPPY_EYEBALLS_TIMEOUT_MS = 271,
    TPC_USER_AGENT = 10018,
    TPC_NO_PROXY = 10177,
    TPC_UNIX_SOCKET_PATH = 10231,
    TPC_INTERFACE = 10062,
    TPC_CA_FILE = 10065,
    TPC_CA_PATH = 10097,
    TPC_CA_BLOB = 40309,
    TPC_PINNED_KEYS = 10230,
    TPC_CERTIFICATE = 10025,
    TPC_KEY = 10087,
    TPC_CERTIFICATE_BLOB = 40291,
    TPC_KEY_BLOB = 40292,
    TPC_KEY_PASSWORD = 10026,
    TPC_TLS_SESSIONS = 150,
    TPC_TLS_VERSION = 32,
    TPC_VERIFY_PEER = 64,
    TPC_VERIFY_HOST = 81,
};
enum { TPC_HTTP_1_1 = 2, TPC_HTTP_2_TLS = 4, TPC_HTTP_3 = 30, TPC_HTTP_3_ONLY = 31, TPC_TLS_1_2 = 6, TPC_TLS_1_3 = 7 };

// Each setter returns libcurl's code, 0 for success. Texts are copied.
int tpc_set_number(tpc_transfer *transfer, int option, long value);
int tpc_set_text(tpc_transfer *transfer, int option, const char *text);
/// If `copies` is false, the bytes must stay valid until other bytes are set or the transfer is freed.
int tpc_set_bytes(tpc_transfer *transfer, int option, const void *bytes, size_t count, bool copies);
/// Sets the proxy URLs for http and https, or NULL for no proxy.
int tpc_set_proxies(tpc_transfer *transfer, const char *http, const char *https);
/// Sets the addresses of hosts, in lines that end with NUL.
int tpc_set_overrides(tpc_transfer *transfer, const char *lines, size_t count);

/// The content of an exchange besides the head of the request.
typedef enum tpc_exchange { TPC_EXCHANGE_PLAIN, TPC_EXCHANGE_HEAD, TPC_EXCHANGE_UPLOAD } tpc_exchange;

enum {
    TPC_FRESH = 1,
    TPC_SECURE = 2,
    /// Other transfers wait until this transfer has a connection for sharing. The transfer has news before the send of
    /// the request.
    TPC_SHARED = 4,
    /// Trailer lines follow the content, whose length must not be set. The transfer cannot be used again after the request.
    TPC_TRAILERS = 8,
    /// libcurl calls `tpc_judge` for each address of the connection.
    TPC_JUDGED = 16,
    /// The request uses no proxy, even if the configuration has a proxy.
    TPC_DIRECT = 32,
    /// The request uses the proxy, even if the configuration has an exception for the host.
    TPC_PROXIED = 64,
    /// The request has another endpoint (`connect_to`, `unix_socket`), or is TPC_PROXIED.
    TPC_ROUTED = 128,
};

typedef struct tpc_request {
    /// The absolute form of the target, for an HTTP proxy, and the form for a server (RFC 9112 §3.2).
    const char *url, *target;
    /// The number of bytes of scheme and authority in the absolute form.
    size_t origin_count;
    /// The method, or NULL for GET and HEAD without content.
    const char *method;
    tpc_exchange exchange;
    int traits;
    /// The length of the content, or -1 if unknown.
    int64_t content_length;
    /// Each field line ends with NUL.
    const char *fields;
    size_t fields_count;
    /// The version of HTTP for this request only, or 0 for the configured version.
    int version;
    /// The endpoint of the connection instead of the URL's host, as libcurl's text for all hosts (`::HOST:PORT`) or as the path
    /// of a Unix socket. At most one of the two endpoints is set.
    const char *connect_to, *unix_socket;
    /// A number that separates the connections to this endpoint from other connections of the same
    /// host, or 0 for no separation. See request.c.
    unsigned scope;
} tpc_request;

/// Adds a transfer to its loop. Returns libcurl's code, 0 for success.
int tpc_transfer_begin(tpc_transfer *transfer, const tpc_request *request);
/// Removes a transfer from its loop, and prepares the transfer for another request.
void tpc_transfer_end(tpc_transfer *transfer);
/// Moves the bytes out of a buffer of the transfer, to be freed with `tpc_free`. Returns NULL if there are no bytes.
void *tpc_buffer_take(tpc_buffer *buffer, size_t *count);
/// Sets the paused directions, as TPC_PAUSE_… bits.
void tpc_transfer_pause(tpc_transfer *transfer, int directions);
/// Makes libcurl try the next address for a transfer that is connecting.
void tpc_transfer_nudge(tpc_transfer *transfer);

// A connection for another protocol has its own transfer and loop. In the loop of other transfers, libcurl would count the
// connection with the others, and might close the connection to make space.

/// Makes the transfer connect only, through a tunnel if there is an HTTP proxy.
int tpc_upgrade_prepare(tpc_transfer *transfer);
/// Returns a descriptor that becomes readable when the sockets of a loop have events.
int tpc_loop_descriptor(const tpc_loop *loop);
/// Makes a loop poll a descriptor for reading (1) and writing (2), in place of the former sides. Any thread may call this
/// function, even while another thread waits. Returns false if the loop cannot poll the descriptor. A close of the descriptor
/// ends the polls.
bool tpc_loop_poll_descriptor(tpc_loop *loop, int descriptor, int former, int sides);
/// Returns a descriptor that the last wait has found, and the ready sides (both after a failure), or -1 after the last
/// descriptor.
int tpc_loop_found(const tpc_loop *loop, int index, int *sides);
/// Returns the socket of a connected transfer, or -1 if the socket was closed.
int tpc_upgrade_socket(tpc_transfer *transfer);
/// Reads bytes. Returns the number of bytes, 0 at the end, or a TPC_READ_… value.
long tpc_upgrade_read(tpc_transfer *transfer, void *bytes, size_t room);
/// Writes bytes. Returns the number of written bytes, or a TPC_READ_… value. After TPC_READ_WAIT, pass the same bytes again, at
/// the same address.
long tpc_upgrade_write(tpc_transfer *transfer, const void *bytes, size_t count);
/// Ends the sending side of a connection without TLS.
void tpc_upgrade_finish(tpc_transfer *transfer);

/// Any thread may call these functions.
void tpc_free(void *memory);
void tpc_trim(void);
/// Returns the number of bytes in use that malloc's statistics do not count.
size_t tpc_blocks_bytes(void);

/// Returns whether the TLS connection of a finished transfer ended without the peer's close_notify, or false if unknown.
bool tpc_transfer_was_cut(tpc_transfer *transfer);
const char *tpc_error_text(tpc_transfer *transfer, int code);
/// Returns the content length in the head, or -1 for none.
int64_t tpc_transfer_length(tpc_transfer *transfer);

typedef struct tpc_times {
    /// The ends of phases in microseconds since the transfer began, or 0 for a phase that did not happen.
    int64_t lookup, connect, handshake, ready, first_byte;
    bool is_reused;
    /// The address of the peer, valid until the transfer ends.
    const char *peer;
} tpc_times;
void tpc_transfer_times(tpc_transfer *transfer, tpc_times *times);
long tpc_transfer_connects(tpc_transfer *transfer);
/// Returns whether the transfer began to connect, within the limits of connections.
bool tpc_transfer_had_place(tpc_transfer *transfer);
/// Returns the status of the last response to CONNECT, or 0 for none.
long tpc_transfer_connect_status(tpc_transfer *transfer);
/// Returns a number for the connection of the last send, unique among the open connections, or 0 if unknown.
int tpc_transfer_connection(tpc_transfer *transfer);
/// Returns whether the server has sent a GOAWAY on the connection of the last send (RFC 9113 §6.8).
bool tpc_transfer_has_goaway(const tpc_transfer *transfer);
/// Returns the error of a SOCKS proxy, as one of the following values, or 0 for none.
long tpc_transfer_proxy_error(tpc_transfer *transfer);
// The errors of SOCKS proxies (RFC 1928 §6), with libcurl's numbers (`CURLproxycode`).
enum {
    TPC_SOCKS_NO_METHOD = 12,
    TPC_SOCKS_NO_ADDRESS_TYPE = 17,
    TPC_SOCKS_NO_COMMAND = 18,
    TPC_SOCKS_REFUSED = 19,
    TPC_SOCKS_FAILED = 20,
    TPC_SOCKS_NO_HOST = 21,
    TPC_SOCKS_NO_NETWORK = 22,
    TPC_SOCKS_NOT_ALLOWED = 23,
    TPC_SOCKS_EXPIRED = 24,
    TPC_SOCKS_USER_REJECTED = 33,
};
