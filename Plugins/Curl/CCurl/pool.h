// SPDX-License-Identifier: Apache-2.0

// What the files of the loop tell of the pool, if anybody wants to know.

#pragma once

#include "loop.h"

/// Tells that a socket was made for a transfer.
void tpc_pool_opening(tpc_loop *loop, tpc_transfer *transfer, int descriptor, const struct sockaddr *address);

/// Tells that a connection is closed if its peer has ended it.
void tpc_pool_look(tpc_loop *loop, int descriptor);

static inline void tpc_pool_closed(tpc_loop *loop, int descriptor) {
    if (loop->watcher.watcher) loop->watcher.closed(loop->watcher.watcher, descriptor);
}

static inline void tpc_pool_sending(tpc_loop *loop, tpc_transfer *transfer, int local_port, const char *address, int port) {
    if (loop->watcher.watcher) loop->watcher.sending(loop->watcher.watcher, transfer->owner, local_port, address, port);
}

static inline void tpc_pool_waiting(tpc_loop *loop, tpc_transfer *transfer, int descriptor) {
    if (loop->watcher.watcher) loop->watcher.waiting(loop->watcher.watcher, transfer->owner, descriptor);
}

static inline void tpc_pool_ended(tpc_loop *loop, tpc_transfer *transfer) {
    if (loop->watcher.watcher) loop->watcher.ended(loop->watcher.watcher, transfer->owner);
}
