// SPDX-License-Identifier: Apache-2.0

#include "pool.h"
#include <errno.h>
#include <netinet/in.h>
#include <unistd.h>

#if !defined(SOCK_CLOEXEC)
#include <fcntl.h>
#endif

// Opening and closing connections, and which of them are idle.

enum {
    LOOPBACK_BUFFER = 131072,
    // How long a connection waits for its first byte before an idle one is closed for it, in milliseconds.
    FIRST_BYTE_PATIENCE = 1000,
};

// MARK: Opening and closing.

static bool is_loopback(const struct sockaddr *address) {
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)address;
        return ntohl(four->sin_addr.s_addr) >> 24 == 127;
    }
    return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static uint32_t hash(const unsigned char *bytes, size_t count) {
    uint32_t value = 2166136261;
    for (size_t index = 0; index < count; index++) value = (value ^ bytes[index]) * 16777619;
    return value;
}

static int open_socket(void *user, int purpose, struct curl_sockaddr *address) {
    tpc_transfer *transfer = user;
    tpc_loop *loop = tpc_transfer_loop(transfer);
    if (!tpc_transfer_may_connect(transfer)) return -1;
    if (!tpc_transfer_allows(transfer, &address->addr)) {
        loop->has_refusal = tpc_waits_after_refusal;
        return -1;
    }
#if defined(SOCK_CLOEXEC)
    int descriptor = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
#else
    int descriptor = socket(address->family, address->socktype, address->protocol);
    if (descriptor >= 0) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
#endif
    bool is_full = descriptor < 0 && (errno == EMFILE || errno == ENFILE);
    if (is_full || transfer->cause == TPC_CAUSE_NO_DESCRIPTORS)
        transfer->cause = is_full ? TPC_CAUSE_NO_DESCRIPTORS : TPC_CAUSE_NONE;
    // Nothing is in flight on the way to this machine, so a small buffer suffices, which stays in the processor's cache. The
    // system's own grows to megabytes.
    int room = LOOPBACK_BUFFER;
    if (descriptor >= 0 && is_loopback(&address->addr))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    if (descriptor < 0) loop->has_refusal = tpc_waits_after_refusal;
    interest_t *interest = tpc_interest(loop, descriptor);
    if (!interest) return descriptor;
    tpc_interest_set_wanted(loop, interest, 0);
    int64_t due = tpc_loop_now() + FIRST_BYTE_PATIENCE;
    *interest = (interest_t){.connection = CONNECTION_NEW, .first_byte_due = due,
                             .peer = hash((const unsigned char *)&address->addr, address->addrlen)};
    if (loop->first_byte_due > due) loop->first_byte_due = due;
    if (loop->unused_due == INT64_MAX) loop->unused_due = due - FIRST_BYTE_PATIENCE + loop->unused_time;
    if (loop->watcher.watcher) tpc_pool_opening(loop, transfer, descriptor, &address->addr);
    return descriptor;
}

static bool is_connected(int descriptor) {
    struct sockaddr_storage peer;
    socklen_t count = sizeof peer;
    return getpeername(descriptor, (struct sockaddr *)&peer, &count) == 0;
}

static int close_socket(void *user, int descriptor) {
    tpc_loop *loop = user;
    interest_t *interest = tpc_interest(loop, descriptor);
    if (interest) {
        tpc_interest_set_wanted(loop, interest, 0);
        *interest = (interest_t){0};
    }
    tpc_pool_closed(loop, descriptor);
    if (tpc_waits_after_refusal && !is_connected(descriptor)) loop->has_refusal = true;
    return close(descriptor);
}

// A connection is opened for a transfer, but closed for the loop: it may outlive the transfer.
void tpc_set_socket_callbacks(tpc_loop *loop, CURL *easy, tpc_transfer *transfer) {
    tpc_curl.easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    tpc_curl.easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer);
    tpc_curl.easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    tpc_curl.easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, loop);
}

bool tpc_loop_take_refusal(tpc_loop *loop) {
    bool has_refusal = loop->has_refusal;
    loop->has_refusal = false;
    return has_refusal;
}

bool tpc_has_descriptors(void) {
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    if (descriptor < 0) return errno != EMFILE && errno != ENFILE;
    close(descriptor);
    return true;
}

// MARK: Idle connections.
//
// A server with few workers serves only so many connections at a time. Idle connections hold its workers, and it does not answer
// new ones although the system has accepted them. So an idle connection is closed for a new one to the same peer on which nothing
// has come for too long.

static uint64_t peer_bit(const interest_t *interest) { return UINT64_C(1) << (interest->peer & 63); }

// libcurl also waits for nothing on the socket of a paused transfer, so a connection counts as idle only once its transfer has
// ended.
void tpc_connection_set_idle(tpc_loop *loop, int descriptor, const tpc_transfer *user) {
    interest_t *interest = tpc_interest(loop, descriptor);
    if (!interest || interest->user != user || interest->wanted || interest->connection != CONNECTION_USED) return;
    interest->connection = CONNECTION_IDLE;
    if (loop->lacks_idle & peer_bit(interest)) loop->first_byte_due = 0;
}

static interest_t *next_idle(tpc_loop *loop, uint32_t peer, int *from) {
    for (int descriptor = *from; descriptor < loop->interest_count; descriptor++) {
        interest_t *idle = &loop->interests[descriptor];
        if (idle->connection != CONNECTION_IDLE || idle->peer != peer) continue;
        // The next transfer on it may have begun, and have been paused, before libcurl said anything about the socket.
        if (tpc_transfers_use_port(loop, tpc_local_port(descriptor))) continue;
        *from = descriptor;
        return idle;
    }
    return NULL;
}

void tpc_connections_make_room(tpc_loop *loop) {
    int64_t present = tpc_loop_now();
    loop->first_byte_due = INT64_MAX;
    loop->lacks_idle = 0;
    // Older versions write to the connection once more to end TLS, which would raise SIGPIPE.
    if (tpc_version() < 0x075700) return;
    uint32_t sought = 0;
    int from = 0;
    for (int descriptor = 0; descriptor < loop->interest_count; descriptor++) {
        interest_t *waiting = &loop->interests[descriptor];
        if (waiting->connection != CONNECTION_NEW || !waiting->wanted) continue;
        if (waiting->first_byte_due <= present) {
            // Two peers may have the same bit. Then one of them waits until the other one has room.
            if (loop->lacks_idle & peer_bit(waiting)) continue;
            if (waiting->peer != sought) from = 0;
            sought = waiting->peer;
            interest_t *idle = next_idle(loop, waiting->peer, &from);
            if (!idle) {
                loop->lacks_idle |= peer_bit(waiting);
                continue;
            }
            // libcurl closes the descriptor when it looks for a connection the next time, and finds that this one has ended.
            idle->connection = CONNECTION_USED;
            shutdown(from, SHUT_RDWR);
            waiting->first_byte_due = present + FIRST_BYTE_PATIENCE;
        }
        if (waiting->first_byte_due < loop->first_byte_due) loop->first_byte_due = waiting->first_byte_due;
    }
}

// MARK: Unused connections.
//
// libcurl closes connections that have been idle for too long when it looks for one. A client without requests would keep its own,
// and their places at the server, for as long as that lets it. So they are ended from here, later than libcurl would use them again
// (`unused_time`): a look from time to time ends those that were unused at the look before. What counts is that libcurl does not
// wait for the socket, whatever the version of HTTP.

void tpc_connections_end_unused(tpc_loop *loop) {
    bool is_any = false;
    loop->unused_due = INT64_MAX;
    // See `tpc_connections_make_room`.
    if (tpc_version() < 0x075700) return;
    for (int descriptor = 0; descriptor < loop->interest_count; descriptor++) {
        interest_t *each = &loop->interests[descriptor];
        if (each->connection == CONNECTION_NONE || each->connection == CONNECTION_ENDED) continue;
        is_any = true;
        if (each->wanted || tpc_transfers_use_port(loop, tpc_local_port(descriptor))) {
            each->is_unused = false;
        } else if (!each->is_unused) {
            each->is_unused = true;
        } else {
            each->connection = CONNECTION_ENDED;
            shutdown(descriptor, SHUT_RDWR);
            tpc_pool_closed(loop, descriptor);
        }
    }
    if (is_any) loop->unused_due = tpc_loop_now() + loop->unused_time;
}
