// SPDX-License-Identifier: Apache-2.0

// The idle connections of a loop. The loop closes an idle connection to make space for a new connection, if unrequested
// bytes arrive, or if the connection was idle for too long. Uses connections.c.

#include "engine.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

// A server with few workers serves only a few connections at a time. Idle connections occupy the workers. In this case, the
// server does not answer on new connections that the system has accepted. If a new connection receives no byte for too long,
// the loop therefore closes an idle connection to the same peer.

static uint64_t peer_bit(const interest_t *interest) { return UINT64_C(1) << (interest->peer & 63); }

enum { PORTS = 1024, NO_IDLE = -1, SEVERAL_IDLE = -2 };

// Returns whether libcurl may use the connection for a request. libcurl 8.22 checks a connection at
// most once a second, and may use an ended connection.
static bool is_kept(const interest_t *interest) {
    return interest->connection == CONNECTION_IDLE || interest->connection == CONNECTION_ENDED;
}

// Stores the descriptor of an idle connection by local port, for a look-up without a search. Ports
// with the same place share an entry, and so do connections to two peers with the same port.
static void note_idle(tpc_loop *loop, int descriptor, int port) {
    if (port <= 0) return;
    if (!loop->idle_by_port) {
        loop->idle_by_port = malloc(PORTS * sizeof *loop->idle_by_port);
        if (!loop->idle_by_port) return;
        for (int index = 0; index < PORTS; index++) loop->idle_by_port[index] = NO_IDLE;
    }
    int *known = &loop->idle_by_port[port % PORTS];
    if (*known == SEVERAL_IDLE || *known == descriptor) return;
    const interest_t *other = *known < 0 ? NULL : tpc_interest_of(loop, *known);
    bool is_other = other && is_kept(other) && other->port % PORTS == port % PORTS;
    *known = is_other ? SEVERAL_IDLE : descriptor;
}

// A connection counts as idle only after the end of its transfer, because libcurl does not wait for the socket of a paused
// transfer either.
void tpc_connection_set_idle(tpc_loop *loop, int descriptor, const tpc_transfer *user) {
    interest_t *interest = tpc_interest_of(loop, descriptor);
    if (!interest || interest->user != user || interest->wanted || interest->connection != CONNECTION_USED) return;
    interest->connection = CONNECTION_IDLE;
    interest->port = ((const transfer_t *)user)->connection.port;
    note_idle(loop, descriptor, interest->port);
    if (loop->lacks_idle & peer_bit(interest)) loop->first_byte_due = 0;
}

// Returns whether the request of an active transfer was sent from the local port of a socket.
static bool is_used(tpc_loop *loop, int descriptor) {
    int port = tpc_local_port(descriptor);
    for (transfer_t *each = loop->active; each; each = each->next)
        if (each->shown.result == TPC_RUNNING && each->connection.port == port) return true;
    return false;
}

static interest_t *next_idle(tpc_loop *loop, uint32_t peer, int *from) {
    for (int descriptor = *from; descriptor < loop->interest_count; descriptor++) {
        interest_t *idle = &loop->interests[descriptor];
        if (idle->connection != CONNECTION_IDLE || idle->peer != peer) continue;
        // The next transfer of the connection may have begun and been paused before libcurl reported anything about the socket.
        if (is_used(loop, descriptor)) continue;
        *from = descriptor;
        return idle;
    }
    return NULL;
}

static bool is_readable(int descriptor) {
    char byte;
    return recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

static bool has_peer(int descriptor, const char *peer, int peer_port) {
    struct sockaddr_storage address;
    socklen_t count = sizeof address;
    char text[INET6_ADDRSTRLEN] = "";
    if (getpeername(descriptor, (struct sockaddr *)&address, &count) != 0) return true;
    const struct sockaddr_in *four = (const struct sockaddr_in *)&address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address;
    bool is_six = address.ss_family == AF_INET6;
    inet_ntop(address.ss_family, is_six ? (const void *)&six->sin6_addr : &four->sin_addr, text, sizeof text);
    return ntohs(is_six ? six->sin6_port : four->sin_port) == peer_port && strcmp(text, peer) == 0;
}

bool tpc_connection_is_spoiled(tpc_loop *loop, int port, const char *peer, int peer_port) {
    if (port <= 0 || !loop->idle_by_port) return false;
    int *known = &loop->idle_by_port[port % PORTS];
    if (*known == NO_IDLE) return false;
    bool is_search = *known == SEVERAL_IDLE, is_any = false;
    int end = is_search ? loop->interest_count : *known + 1;
    for (int descriptor = is_search ? 0 : *known; descriptor < end; descriptor++) {
        interest_t *each = tpc_interest_of(loop, descriptor);
        if (!each || !is_kept(each) || each->port % PORTS != port % PORTS) continue;
        is_any = true;
        // Connections to two peers may have the same local port.
        if (each->port != port || !is_readable(descriptor) || !has_peer(descriptor, peer, peer_port)) continue;
        // libcurl closes this connection itself.
        each->connection = CONNECTION_USED;
        return true;
    }
    if (is_search && !is_any) *known = NO_IDLE;
    return false;
}

void tpc_connections_make_room(tpc_loop *loop) {
    int64_t present = tpc_loop_now();
    loop->first_byte_due = INT64_MAX;
    loop->lacks_idle = 0;
    // Older versions of libcurl write to the ended connection to end TLS, which raises SIGPIPE.
    if (tpc_version(loop->library) < 0x075700) return;
    uint32_t sought = 0;
    int from = 0;
    for (int descriptor = 0; descriptor < loop->interest_count; descriptor++) {
        interest_t *waiting = &loop->interests[descriptor];
        if (waiting->connection != CONNECTION_NEW || !waiting->wanted) continue;
        if (waiting->first_byte_due <= present) {
            // Two peers may have the same bit of `lacks_idle`. In this case, one of the peers waits
            // until the other peer has an idle connection.
            if (loop->lacks_idle & peer_bit(waiting)) continue;
            if (waiting->peer != sought) from = 0;
            sought = waiting->peer;
            interest_t *idle = next_idle(loop, waiting->peer, &from);
            if (!idle) {
                loop->lacks_idle |= peer_bit(waiting);
                continue;
            }
            // libcurl closes the descriptor at the next search for a connection, and notices that this connection has ended.
            idle->connection = CONNECTION_ENDED;
            shutdown(from, SHUT_RDWR);
            waiting->first_byte_due = present + FIRST_BYTE_PATIENCE;
        }
        if (waiting->first_byte_due < loop->first_byte_due) loop->first_byte_due = waiting->first_byte_due;
    }
}

// MARK: Unused connections.
//
// libcurl closes connections that have been idle for too long only at the search for a connection. Without requests, these
// connections would occupy the server. A regular check therefore ends the connections that were already unused at the previous
// check. After `unused_time`, libcurl does not use the connection any more. A connection is unused if libcurl does not wait
// for the socket, in any version of HTTP.

void tpc_connections_end_unused(tpc_loop *loop) {
    bool is_any = false;
    loop->unused_due = INT64_MAX;
    // See `tpc_connections_make_room`.
    if (tpc_version(loop->library) < 0x075700) return;
    for (int descriptor = 0; descriptor < loop->interest_count; descriptor++) {
        interest_t *each = &loop->interests[descriptor];
        if (each->connection == CONNECTION_NONE || each->connection == CONNECTION_ENDED) continue;
        is_any = true;
        if (each->wanted || is_used(loop, descriptor)) {
            each->is_unused = false;
        } else if (!each->is_unused) {
            each->is_unused = true;
        } else {
            each->connection = CONNECTION_ENDED;
            shutdown(descriptor, SHUT_RDWR);
            tpc_tell_closed(loop, descriptor);
        }
    }
    if (is_any) loop->unused_due = tpc_loop_now() + loop->unused_time;
}
