// SPDX-License-Identifier: Apache-2.0

// The whole of a loop, for the files that implement it: loop.c (turns), sockets.c (what is polled) and connections.c.

#pragma once

#include "libcurl.h"
#include "poller.h"

struct transfer;

typedef enum {
    // Not opened by `open_socket`: a descriptor of a resolver, or none at all.
    CONNECTION_NONE,
    // Nothing has come on it yet.
    CONNECTION_NEW,
    CONNECTION_USED,
    // libcurl keeps it for a later request.
    CONNECTION_IDLE,
    // It was ended here, and libcurl has not found out yet.
    CONNECTION_ENDED,
} connection_t;

// What is known of a descriptor.
typedef struct {
    // CURL_POLL_… bits: what libcurl waits for, which part of that is left out for now, and what the system polls.
    unsigned char wanted, muted, polled;
    // How often in a row it was ready for bytes, and libcurl had none.
    unsigned short fruitless;
    connection_t connection;
    // Whether libcurl has not waited for it since the last look for unused connections.
    bool is_unused;
    // The transfer for which libcurl last waited. It may have been freed, so it is only compared.
    const tpc_transfer *user;
    // A hash of the peer's address.
    uint32_t peer;
    // When an idle connection to the same peer is closed, unless something has come by then, in milliseconds.
    int64_t first_byte_due;
} interest_t;

enum { TPC_CLOSE_NOTIFIES = 256 };

struct tpc_loop {
    CURLM *multi;
    // The TLS sessions of all handles, or NULL if each has its own.
    CURLSH *sessions;
    tpc_poller poller;
    // The interests by descriptor, and the number of those that libcurl waits for.
    interest_t *interests;
    int interest_count, wanted_count;
    // What the last wait has found.
    tpc_event events[TPC_EVENTS];
    int event_count;
    // When something is due, in milliseconds, INT64_MAX for never: libcurl's timer, the end of muted interests, and the first
    // byte of a connection.
    int64_t timer_due, unmute_due, first_byte_due;
    // When to look for unused connections, INT64_MAX for never, and how long one may be unused.
    int64_t unused_due, unused_time;
    // The peers that have left a connection without a byte for too long and have no idle one to close; a bit for each, see
    // `peer_bit`.
    uint64_t lacks_idle;
    // Whether an address has refused a connection; see `tpc_loop_take_refusal`.
    bool has_refusal;
    // Goes up with each thing that a transfer does.
    unsigned steps;
    // The loop whose turn this thread was in when it began the turn of this one, or NULL.
    tpc_loop *outer;
    // The transfers that have news, in order.
    tpc_transfer *first_ready, **last_ready;
    // The transfers that libcurl has.
    struct transfer *active;
    // The TLS connections that have reported a close_notify in the current call of libcurl. A transfer whose content ends with
    // its connection ends in the same call.
    const void *close_notifies[TPC_CLOSE_NOTIFIES];
    size_t close_notify_count;
    // Who is told of the pool; see pool.h.
    tpc_pool_watcher watcher;
};

// loop.c

/// Says that a transfer of the loop does something.
static inline void tpc_loop_step(tpc_loop *loop) { loop->steps++; }
void tpc_loop_mark(tpc_loop *loop, tpc_transfer *transfer, tpc_transfer **next);
/// Removes a transfer from those that have news.
void tpc_loop_forget(tpc_loop *loop, tpc_transfer *transfer);
/// Notes that the peer has ended a TLS connection, for the loop whose turn this thread is in.
void tpc_loop_note_close_notify(const void *session);

// sockets.c

int tpc_on_socket(CURL *easy, int descriptor, int what, void *loop, void *socket_user);
/// Returns the interest of a descriptor, or NULL if there is no memory.
interest_t *tpc_interest(tpc_loop *loop, int descriptor);
void tpc_interest_set_wanted(tpc_loop *loop, interest_t *interest, int mask);
/// Stops or resumes polling a descriptor for what comes.
void tpc_loop_hold(tpc_loop *loop, int descriptor, bool is_held);
/// Lets libcurl act on events.
void tpc_sockets_act(tpc_loop *loop, const tpc_event *events, int count);
/// Polls again what was muted for a while.
void tpc_unmute(tpc_loop *loop);

// connections.c

void tpc_set_socket_callbacks(tpc_loop *loop, CURL *easy, tpc_transfer *transfer);
/// Notes that a transfer has ended well, and has left its connection idle if libcurl has kept it.
void tpc_connection_set_idle(tpc_loop *loop, int descriptor, const tpc_transfer *user);
/// Closes idle connections to peers that leave new ones without a byte.
void tpc_connections_make_room(tpc_loop *loop);
/// Ends the connections that have been unused since the last time.
void tpc_connections_end_unused(tpc_loop *loop);
/// Returns whether the process may open another descriptor.
bool tpc_has_descriptors(void);

// transfer.c, for the loop

/// Notes how libcurl has ended a transfer, and marks it.
void tpc_transfer_finish(tpc_transfer *transfer, int result);
/// Notes the descriptor that libcurl waits for.
void tpc_transfer_set_descriptor(tpc_transfer *transfer, int descriptor);
tpc_loop *tpc_transfer_loop(tpc_transfer *transfer);
/// Asks the request's rule about an address to which a socket is to be opened, if there is a rule.
bool tpc_transfer_may_connect(tpc_transfer *transfer);
bool tpc_transfer_allows(tpc_transfer *transfer, const struct sockaddr *address);
tpc_transfer **tpc_transfer_next_ready(tpc_transfer *transfer);
/// Returns whether the request of an active transfer went out from a local port.
bool tpc_transfers_use_port(tpc_loop *loop, int port);
