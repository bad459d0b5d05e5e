// SPDX-License-Identifier: Apache-2.0

// For POLLRDHUP.
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "pool.h"
#include "transfer.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/un.h>

// What is told of connections to those who count them. Swift decides which connection a request is on: libcurl tells only its ports.

void tpc_loop_watch(tpc_loop *loop, const tpc_pool_watcher *watcher) { loop->watcher = *watcher; }

int tpc_local_port(int descriptor) {
    struct sockaddr_storage address;
    socklen_t count = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &count) != 0) return 0;
    if (address.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    return address.ss_family == AF_INET ? ntohs(((struct sockaddr_in *)&address)->sin_port) : 0;
}

void tpc_pool_opening(tpc_loop *loop, tpc_transfer *transfer, int descriptor, const struct sockaddr *address) {
    char text[sizeof ((struct sockaddr_un *)address)->sun_path + 1] = "";
    int port = 0;
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)address;
        inet_ntop(AF_INET, &four->sin_addr, text, sizeof text);
        port = ntohs(four->sin_port);
    } else if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
        inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof text);
        port = ntohs(six->sin6_port);
    } else if (address->sa_family == AF_UNIX) {
        const struct sockaddr_un *local = (const struct sockaddr_un *)address;
        snprintf(text, sizeof text, "%.*s", (int)sizeof local->sun_path, local->sun_path);
    }
    loop->watcher.opening(loop->watcher.watcher, transfer->owner, descriptor, text, port);
}

// libcurl closes its end when it looks for a connection the next time.
void tpc_pool_look(tpc_loop *loop, int descriptor) {
    if (!loop->watcher.watcher) return;
#if defined(POLLRDHUP)
    struct pollfd look = {.fd = descriptor, .events = POLLRDHUP};
    bool has_ended = poll(&look, 1, 0) > 0;
#else
    char byte;
    bool has_ended = recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
#endif
    if (has_ended) tpc_pool_closed(loop, descriptor);
}

int tpc_transfer_connection(tpc_transfer *transfer) {
    const transfer_t *this = whole(transfer);
    if (this->connection.port > 0) return this->connection.port;
    return this->socket.descriptor >= 0 ? -1 - this->socket.descriptor : 0;
}
