// What Swift sees of libcurl: a library found at run time, a loop, and transfers in it.
//
// libcurl calls back from inside its own functions, many times for one exchange. The callbacks stand here, in C, and only
// gather: the loop then names each transfer that has something new, and Swift decides what becomes of it.
//
// A loop and its transfers are used by one thread at a time; only tpc_loop_wake may be called at any time.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The library.

/// 7.80: since then it tells each time that it is about to send a request.
enum { TPC_OLDEST = 0x075000 };
/// Finds libcurl by a file name, NULL for the usual ones; gives NULL, or why it cannot be used, in a text of this thread.
/// Call it until it has found one, and no more.
const char *tpc_load(const char *file, unsigned oldest);
/// As 0xMMmmpp.
unsigned tpc_version(void);
const char *tpc_version_text(void);
const char *tpc_tls_text(void);

enum { TPC_HAS_TLS = 1, TPC_HAS_HTTP2 = 2, TPC_HAS_UNIX_SOCKETS = 4 };
/// The features that matter here.
int tpc_features(void);

/// Whether it can be told which connections carry HTTP/2.
bool tpc_tells_http2(void);

const char *tpc_error_text(int code);

// The loop.

typedef struct tpc_loop tpc_loop;
typedef struct tpc_transfer tpc_transfer;

typedef struct tpc_limits {
    long idle_connections;
    long connections_per_host;
    long connections;
    long streams;
    // In nanoseconds; see `tpc_loop_look`.
    int64_t busy_polling;
} tpc_limits;

tpc_loop *tpc_loop_create(const tpc_limits *limits);
/// Closes all its descriptors. Its transfers must have been freed, and nobody may wait any more; to wake it does nothing now.
void tpc_loop_close(tpc_loop *loop);
void tpc_loop_free(tpc_loop *loop);
/// Says that this thread is the one that waits, and names it by up to 15 bytes.
void tpc_loop_enter(tpc_loop *loop, const char *name);
/// Whether this thread is the one that waits.
bool tpc_loop_is_here(tpc_loop *loop);
/// Makes a wait return; from any thread.
void tpc_loop_wake(tpc_loop *loop);
/// Waits for sockets, a wake or the time; not to be called while another thread uses the loop to wait.
void tpc_loop_wait(tpc_loop *loop, int milliseconds);
/// Waits for a wake or the time alone, while others look at the sockets; instead of the wait above.
void tpc_loop_rest(tpc_loop *loop, int milliseconds);
/// Whether what came lately came within the time of a look.
bool tpc_loop_is_brisk(tpc_loop *loop);
/// Looks at the sockets for as long as `busy_polling` at most, without sleep, and has libcurl act on what is found; in a turn.
/// False where nothing came, where the thread was woken, and where other loops need this thread.
bool tpc_loop_look(tpc_loop *loop);
/// Ends a look early, or the next one; from any thread.
void tpc_loop_want(tpc_loop *loop);
/// Takes that back, for a turn sees what was wanted.
void tpc_loop_unwant(tpc_loop *loop);
/// Whether libcurl waits for no socket at all; it may wait for some when all transfers have ended.
bool tpc_loop_is_idle(tpc_loop *loop);
/// Says that this thread alone uses the loop from now on, and that it does no more.
void tpc_loop_begin_turn(tpc_loop *loop);
void tpc_loop_end_turn(tpc_loop *loop);
/// Has libcurl act on what the last wait found.
void tpc_loop_act(tpc_loop *loop);
/// Has libcurl act on time that is up.
void tpc_loop_run_timers(tpc_loop *loop);
/// Whether an address was refused since the last call, and libcurl waits with the next address of its name until a timer is up
/// (7.88 to 8.3): transfers that are connecting are to be nudged then.
bool tpc_loop_take_refusal(tpc_loop *loop);
/// When time is up, in milliseconds of the loops' own clock; INT64_MAX for never.
int64_t tpc_loop_due(tpc_loop *loop);
int64_t tpc_loop_now(void);
/// Milliseconds until then; -1 for never.
int tpc_loop_timeout(int64_t due);
/// The next transfer with something new, or NULL; each is named once until it has something new again.
tpc_transfer *tpc_loop_next_ready(tpc_loop *loop);

// A transfer: an easy handle and what has come for it.

/// Copies up to `room` bytes of content; 0 at the end, or one of these.
enum { TPC_READ_WAIT = -1, TPC_READ_FAIL = -2 };
typedef long (*tpc_read)(void *owner, char *bytes, size_t room);
/// Makes the content start again; false where that cannot be.
typedef bool (*tpc_rewind)(void *owner);
/// Adds the lines that follow the content to a list, by `tpc_trailer_add`; false where that cannot be.
typedef bool (*tpc_trail)(void *owner, void *list);
bool tpc_trailer_add(void *list, const char *line);

struct tpc_transfer {
    /// Whom the callbacks are for.
    void *owner;
    /// What libcurl has by reference, and stays when the transfer ends.
    void *trust;
    /// The final head: its lines as they came.
    const char *head;
    size_t head_count;
    bool has_head;
    /// The lines behind the content, so far.
    const char *trailers;
    size_t trailers_count;
    /// Whether the head says that the server does not act on the content.
    bool is_unwilling;
    /// Whether libcurl wanted to send the request again after the head, and so keeps nothing of the content behind it.
    bool skips_content;
    /// Whether the head, or once it has come the trailer section, was larger than is taken.
    bool is_head_too_large;
    /// Content that has come and was not taken.
    size_t body_count;
    /// Whether libcurl holds back because of `body_count`, or was told to.
    bool is_receive_paused;
    bool is_send_paused;
    /// Whether the transfer is over, and how.
    bool is_done;
    int result;
    /// How often the request was about to be sent.
    int sends;
    /// Whether its connection is one of HTTP/2, once it was about to be sent, as far as that can be told.
    bool is_http2;
    /// Whether it failed for want of descriptors.
    bool lacks_descriptors;
    /// Whether it has failed, and the server has certainly done nothing with what was sent last (RFC 9113 §8.7).
    bool is_refused;
    char error[256];
};

/// Creates a transfer whose content is not decoded; NULL if there is no memory.
tpc_transfer *tpc_transfer_create(tpc_loop *loop, tpc_read read, tpc_rewind rewind, tpc_trail trail);
void tpc_transfer_free(tpc_transfer *transfer);

/// libcurl's options that a configuration may set.
enum {
    TPC_HTTP_VERSION = 84,
    TPC_CONNECT_TIMEOUT_MS = 156,
    TPC_MAX_AGE_CONNECTION = 288,
    TPC_HAPPY_EYEBALLS_TIMEOUT_MS = 271,
    TPC_USER_AGENT = 10018,
    TPC_NO_PROXY = 10177,
    TPC_UNIX_SOCKET_PATH = 10231,
    TPC_INTERFACE = 10062,
    TPC_RESOLVE = 10203,
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
    TPC_PROXY_CA_FILE = 10246,
    TPC_PROXY_CA_BLOB = 40310,
};
enum { TPC_HTTP_1_1 = 2, TPC_HTTP_2_TLS = 4, TPC_TLS_1_2 = 6, TPC_TLS_1_3 = 7 };

/// Returns libcurl's code, 0 for success; texts are copied.
int tpc_set_number(tpc_transfer *transfer, int option, long value);
int tpc_set_text(tpc_transfer *transfer, int option, const char *text);
/// Sets the URLs of the proxies for http and https; NULL for none.
void tpc_set_proxies(tpc_transfer *transfer, const char *http, const char *https);
/// Bytes that are not copied must stay where they are until others are set, or the handle is freed.
int tpc_set_bytes(tpc_transfer *transfer, int option, const void *bytes, size_t count, bool copies);
/// `lines` are texts behind each other, each with its NUL; they are copied and live as long as the transfer.
int tpc_set_lines(tpc_transfer *transfer, int option, const char *lines, size_t count);

typedef struct tpc_request {
    /// The absolute form of the target, which an HTTP proxy gets, and the form that a server gets (RFC 9112 §3.2).
    const char *url, *target;
    /// NULL for GET and HEAD without content.
    const char *method;
    bool is_head;
    bool has_content;
    /// -1 where it is not known.
    int64_t content_length;
    /// Field lines behind each other, each with its NUL.
    const char *fields;
    size_t fields_count;
    /// Whether libcurl may send it again on a connection that turns out to be dead, though the server may have acted on it.
    bool is_repeatable;
    /// Whether its connection is a TLS one.
    bool is_secure;
    /// Whether its connection may carry others at the same time, which wait until it has one: then it is named as one with
    /// something new when it is about to be sent.
    bool is_shared;
    /// Whether lines follow the content, for which its length must not be known. The transfer is not fit for another request
    /// then.
    bool has_trailers;
    /// A version of HTTP for this request alone; 0 for the one that was set.
    int version;
} tpc_request;

/// Adds a transfer to its loop; gives libcurl's code, 0 for success.
int tpc_transfer_begin(tpc_transfer *transfer, const tpc_request *request);
/// Takes a transfer out of its loop and makes it fit for another request.
void tpc_transfer_end(tpc_transfer *transfer);
/// Takes the final head; it is freed with `tpc_free`.
void *tpc_transfer_take_head(tpc_transfer *transfer, size_t *count);
/// Takes the content that has come; it is freed with `tpc_free`. NULL where there is none.
void *tpc_transfer_take_body(tpc_transfer *transfer, size_t *count);
/// From any thread.
void tpc_free(void *memory);
/// Returns the pages of unused memory to the system.
void tpc_trim(void);
/// The memory in use that is not malloc's, as what that says of itself does not count it.
size_t tpc_blocks_bytes(void);
/// Whether a transfer that is done came by a TLS connection whose end the peer has not announced; where that is not known,
/// it counts as announced.
bool tpc_transfer_was_cut(tpc_transfer *transfer);
/// The length of the content by its head; -1 where it gives none.
int64_t tpc_transfer_length(tpc_transfer *transfer);
/// Whether the answer has come with all of the content that its head announces, whatever becomes of the request.
bool tpc_transfer_is_whole(tpc_transfer *transfer);
/// Whether a redirection or an error of known length came whole, by HTTP/2: the server has no use for what is left of the
/// request. libcurl reads no more of the connection for it then, not even of the window that the rest waits for.
bool tpc_transfer_is_unwanted(tpc_transfer *transfer);
/// Has libcurl look at a transfer that is connecting.
void tpc_transfer_nudge(tpc_transfer *transfer);
void tpc_transfer_pause(tpc_transfer *transfer, bool receive, bool send);

typedef struct tpc_times {
    /// Microseconds from the begin of the transfer; 0 where there was none.
    int64_t lookup, connect, handshake, ready, first_byte;
    bool is_reused;
    /// Valid until the transfer ends.
    const char *peer;
} tpc_times;
void tpc_transfer_times(tpc_transfer *transfer, tpc_times *times);
/// The connections that were made for it.
long tpc_transfer_connects(tpc_transfer *transfer);
/// Whether it has had a place among the connections, so that one was begun for it.
bool tpc_transfer_had_place(tpc_transfer *transfer);
/// The status of the last answer to CONNECT; 0 for none.
long tpc_transfer_connect_status(tpc_transfer *transfer);
/// What a SOCKS proxy said (RFC 1928 §6), in libcurl's codes (`CURLproxycode`); 0 for nothing.
long tpc_transfer_proxy_error(tpc_transfer *transfer);
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

// PEM, with OpenSSL, where libcurl uses that.

/// Whether PEM can be read, and libcurl takes it from memory.
bool tpc_pem_can_read(void);
/// Whether bytes are certificates, each of them whole.
bool tpc_pem_has_certificates(const void *bytes, size_t count);
/// Whether bytes are certificates, and others the private key of the first one.
bool tpc_pem_fits(const void *certificate, size_t certificate_count, const void *key, size_t key_count,
                  const char *password);
