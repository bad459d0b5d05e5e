// SPDX-License-Identifier: Apache-2.0

// What Swift sees of the pool of connections.

#pragma once

#include <stdbool.h>
#include <stdint.h>

struct tpc_loop;
struct tpc_transfer;

/// Options of libcurl that are about the pool, for `tpc_set_number`.
enum {
    /// How long addresses of a name are kept, in seconds.
    TPC_DNS_CACHE_TIMEOUT = 92,
    /// Whether the addresses of a name are tried in a random order.
    TPC_DNS_SHUFFLE_ADDRESSES = 275,
    /// The age in seconds at which a connection is not used again.
    TPC_MAX_LIFETIME_CONNECTION = 314,
};

/// Who is told what the connections of a loop do, within its turns. Transfers are told by their owners.
typedef struct tpc_pool_watcher {
    /// The first argument of the functions; NULL for nobody.
    void *watcher;
    /// A socket was made for a transfer. The address is an IP address, or the path of a Unix socket, which has port 0.
    void (*opening)(void *watcher, void *transfer, int descriptor, const char *address, int port);
    /// A request is about to be sent from a local port to a port of an IP address; the local port is 0 for a Unix socket.
    void (*sending)(void *watcher, void *transfer, int local_port, const char *address, int port);
    /// libcurl waits for the Unix socket on which a request was sent.
    void (*waiting)(void *watcher, void *transfer, int descriptor);
    /// A transfer has ended, or was given up.
    void (*ended)(void *watcher, void *transfer);
    void (*closed)(void *watcher, int descriptor);
} tpc_pool_watcher;

/// Sets who is told, before the loop has a transfer.
void tpc_loop_watch(struct tpc_loop *loop, const tpc_pool_watcher *watcher);
/// Returns the local port of a socket; 0 for a Unix socket, or if it is unknown.
int tpc_local_port(int descriptor);
/// Returns a number for the connection of the last send, which differs from those of all other open connections; 0 if it is unknown.
int tpc_transfer_connection(struct tpc_transfer *transfer);
/// Returns whether the server has said that it ends the connection of the last send (GOAWAY, RFC 9113 §6.8).
bool tpc_transfer_has_goaway(const struct tpc_transfer *transfer);
