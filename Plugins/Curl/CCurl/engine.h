// SPDX-License-Identifier: Apache-2.0

// The members of a loop and of a transfer, and the functions that the files share. loop.c uses transfer.c, which uses
// request.c, which uses http2.c and idle.c, which use connections.c, which uses library.c.

#pragma once

#include "libcurl.h"
#include <stdatomic.h>
#include <time.h>

struct transfer;

// MARK: A loop.

/// The maximum number of events of one wait.
enum { TPC_EVENTS = 64 };

typedef struct {
    int descriptor;
    /// The events as CURL_CSELECT_… bits.
    int mask;
} tpc_event;

// One thread waits, and other threads may poll.
typedef struct {
    int descriptor;
    int wakeup_read;
    atomic_int wakeup_write;
    atomic_int wakers;
    // For busy polling: the longest time of one poll in nanoseconds (0 for no polling), the budget, and the end of the last
    // iteration in nanoseconds.
    int64_t patience;
    atomic_int credit;
    atomic_int penalty;
    _Atomic int64_t iteration_end;
    atomic_bool is_interrupted;
} tpc_poller;

typedef enum {
    // There is no descriptor, or `open_socket` did not open the descriptor.
    CONNECTION_NONE,
    // The connection has received no byte yet.
    CONNECTION_NEW,
    CONNECTION_USED,
    // libcurl keeps the connection for a later request.
    CONNECTION_IDLE,
    // The plugin ended the connection, and libcurl has not noticed yet.
    CONNECTION_ENDED,
} connection_t;

typedef struct {
    // CURL_POLL_… bits for the events that libcurl waits for, the temporarily omitted events, and the events that the system
    // polls.
    unsigned char wanted, muted, polled;
    // The number of times in a row that the descriptor was writable although libcurl had no bytes to send.
    unsigned short fruitless;
    connection_t connection;
    // The local port of an idle connection, or 0 if unknown.
    int port;
    // Whether libcurl has not waited for the descriptor since the last check for unused connections.
    bool is_unused;
    // The last transfer for which libcurl waited on the descriptor. The pointer is only compared, because the transfer may be
    // freed.
    const tpc_transfer *user;
    uint32_t peer;
    // The time limit for the first byte, in milliseconds. After this time, an idle connection to the same peer is closed.
    int64_t first_byte_due;
} interest_t;

enum {
    // The time in milliseconds for the first byte of a connection, after which an idle connection is closed.
    FIRST_BYTE_PATIENCE = 1000,
};

enum { TPC_CLOSE_NOTIFIES = 256 };

/// The origin of a URL and its parts. Transfers share an origin, because libcurl only reads the origin.
typedef struct {
    int users;
    // The parts, or NULL if libcurl cannot parse the text.
    CURLU *parts;
    char text[];
} tpc_origin;

struct tpc_loop {
    const tpc_library *library;
    CURLM *multi;
    // The origin of the latest request, or NULL.
    tpc_origin *origin;
    // The TLS sessions that all handles share, or NULL if each handle has its own sessions.
    CURLSH *sessions;
    tpc_poller poller;
    // The interests by descriptor, and the number of descriptors that libcurl waits for.
    interest_t *interests;
    int interest_count, wanted_count;
    // The idle connections by local port (see `note_idle`), or NULL before the first idle connection.
    int *idle_by_port;
    tpc_event events[TPC_EVENTS];
    int event_count;
    // Due times in milliseconds (INT64_MAX for never) of libcurl's timer, of omitted events, and of the first byte of a
    // connection.
    int64_t timer_due, unmute_due, first_byte_due;
    // The time of the next check for unused connections (INT64_MAX for never), and the longest unused time of a connection.
    int64_t unused_due, unused_time;
    // The bits (see `peer_bit`) of the peers that send nothing on a new connection and have no idle connection to close.
    uint64_t lacks_idle;
    // Whether an address has refused a connection (see `tpc_loop_take_refusal`), and whether libcurl has reported a new stream.
    bool has_refusal, has_streams;
    unsigned steps;
    // The loop whose iteration surrounds this loop's iteration on the same thread, or NULL.
    tpc_loop *outer;
    tpc_held_sigpipe sigpipe;
    // The transfers that have news, in order.
    struct transfer *first_ready, **last_ready;
    struct transfer *active;
    // The TLS connections that have reported a close_notify in the current call of libcurl. A transfer whose content ends with
    // the connection ends in the same call.
    const void *close_notifies[TPC_CLOSE_NOTIFIES];
    size_t close_notify_count;
    tpc_pool_watcher watcher;
};

// MARK: A transfer.

// The options of the easy handle that a request has set and `tpc_transfer_end` must reset.
enum { CHANGED_METHOD = 1, CHANGED_TRAILERS = 2, CHANGED_VERSION = 4, CHANGED_VERBOSE = 8, CHANGED_ROUTE = 16, CHANGED_FRESH = 32 };

typedef enum {
    ACTIVITY_NONE,
    ACTIVITY_RUNNING,
    // libcurl removes the transfer, and drops content that still arrives.
    ACTIVITY_LEAVING,
} activity_t;

typedef struct transfer {
    // The part that Swift uses, which must be the first member.
    tpc_transfer shown;
    tpc_loop *loop;
    CURL *easy;
    struct {
        tpc_read read;
        tpc_trail trail;
    } content;
    tpc_judge judge;
    activity_t activity;
    // Links in the list of active transfers: the next transfer, and the pointer to this transfer.
    struct transfer *next, **place;
    // The next transfer in the list of transfers with news. Outside of the list, the pointer is the transfer itself.
    struct transfer *next_ready;

    struct {
        int traits;
        struct curl_slist *fields;
        // Both forms of the target if libcurl itself chooses whether the request uses a proxy, or NULL.
        char *url, *target;
        // The endpoint of the connection, in the form of libcurl's option.
        struct curl_slist *connect_to;
        // Whether the request's rule has refused an address, and whether a socket to another address was opened.
        bool has_refused, has_opened;
        int handshakes;
    } request;
    // The origin, or NULL before the first request.
    tpc_origin *origin;
    // The changed options as CHANGED_… bits.
    int changed;
    // The directions that libcurl itself has paused, as TPC_PAUSE_… bits (see `tpc_transfer_pause`).
    int paused;
    long version;
    struct curl_slist *overrides;
    struct {
        // The proxy URLs for http and https (NULL for none), a NULL for requests without a proxy, and the index of the current
        // URL in libcurl.
        char *urls[3];
        int current;
        // The hosts that need no proxy, or NULL for none.
        char *exceptions;
    } proxy;
    // The Unix socket that the configuration has set, or NULL.
    char *unix_socket;

    // The connection of the last send, with the TLS session (NULL for none or unknown), the local port, and the state of the
    // peer's close_notify. The port is needed, because a later session may have the same memory address.
    struct {
        const void *session;
        int port;
        bool has_close_notify;
    } connection;
    // libcurl's reports about HTTP/2 and HTTP/3 since the last send: the number of the stream; the last stream that the server will answer
    // (GOAWAY, RFC 9113 §6.8), -1 if unknown; whether the server has refused the stream (REFUSED_STREAM, §8.7) or requires
    // HTTP/1.1 for this request (HTTP_1_1_REQUIRED, §7).
    struct {
        int64_t stream, last_stream;
        bool was_refused, needs_http1;
    } http2;
    // The descriptor that libcurl waits for (-1 if unknown), and whether the loop does not poll the descriptor for input.
    struct {
        int descriptor;
        bool is_held;
    } socket;
    // Whether libcurl has looked up the host's addresses. libcurl looks up addresses only if the limits permit a new
    // connection.
    bool has_resolved;
} transfer_t;

static inline transfer_t *whole(tpc_transfer *transfer) { return (transfer_t *)transfer; }

static inline const tpc_library *library_of(const transfer_t *this) { return this->loop->library; }

static inline void tpc_transfer_step(transfer_t *this) { this->loop->steps++; }

static inline void tpc_transfer_mark(transfer_t *this) {
    if (this->next_ready != this) return;
    this->next_ready = NULL;
    *this->loop->last_ready = this;
    this->loop->last_ready = &this->next_ready;
}

static inline int64_t tpc_nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// MARK: connections.c

interest_t *tpc_interest_of(tpc_loop *loop, int descriptor);
void tpc_tell_closed(tpc_loop *loop, int descriptor);
/// Returns the descriptor, or -1.
int tpc_connection_open(tpc_loop *loop, tpc_transfer *transfer, struct curl_sockaddr *address);
/// The CURLOPT_CLOSESOCKETFUNCTION, whose argument is the loop.
int tpc_connection_close(void *loop, int descriptor);
/// Records the events that libcurl waits for, as CURL_POLL_… bits, with the transfer. Returns false if there is no memory.
bool tpc_connection_want(tpc_loop *loop, int descriptor, int mask, const tpc_transfer *user);
/// Stops or resumes polling a descriptor for input.
void tpc_connection_hold(tpc_loop *loop, int descriptor, bool is_held);
void tpc_connections_act(tpc_loop *loop, const tpc_event *events, int count);
/// Polls temporarily omitted events again.
void tpc_connections_unmute(tpc_loop *loop);
bool tpc_has_descriptors(void);

// MARK: idle.c

/// Records the success of a transfer. If libcurl has kept the connection, the connection is now idle.
void tpc_connection_set_idle(tpc_loop *loop, int descriptor, const tpc_transfer *user);
/// Returns whether the idle connection with this local port has received bytes or has ended. No request asked for these bytes
/// (RFC 9112 §9.2), but libcurl 7.88 would use them as the next response.
bool tpc_connection_is_spoiled(tpc_loop *loop, int port, const char *peer, int peer_port);
/// Closes idle connections to peers that send nothing on new connections.
void tpc_connections_make_room(tpc_loop *loop);
/// Ends the connections that have been unused since the previous call.
void tpc_connections_end_unused(tpc_loop *loop);

// MARK: http2.c

/// Returns whether a response has arrived by HTTP/2 or HTTP/3.
bool tpc_http2_has_answered(transfer_t *this);
bool tpc_http2_is_refused(transfer_t *this);
/// Records the HTTP version of the last send's connection.
void tpc_note_version(transfer_t *this);
/// The CURLOPT_DEBUGFUNCTION.
int tpc_http2_on_text(CURL *easy, int type, char *text, size_t count, void *user);

// MARK: request.c

void tpc_set_request_callbacks(transfer_t *this);
/// Sets the options of a request. Returns libcurl's code.
int tpc_set_request(transfer_t *this, const tpc_request *request);
void tpc_unset_request(transfer_t *this);
/// Frees an origin after its last user. NULL is allowed.
void tpc_origin_release(const tpc_library *library, tpc_origin *origin);

// MARK: transfer.c

/// The loop whose iteration runs on this thread.
extern _Thread_local tpc_loop *tpc_current_loop;
/// Stores the result of a transfer, and adds the transfer to the list of transfers with news.
void tpc_transfer_finish(tpc_transfer *transfer, int result);
void tpc_transfer_set_descriptor(tpc_transfer *transfer, int descriptor);
