// SPDX-License-Identifier: Apache-2.0

// Polls the sockets of a loop, and informs the watcher of connections. Uses library.c.

// For POLLRDHUP.
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "engine.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/epoll.h>
#else
#include <fcntl.h>
#include <sys/event.h>
#endif

enum {
    // The number of times in a row that a descriptor may be ready although libcurl has no bytes to send. libcurl reads a
    // quarter of a MiB at once, and sends these bytes in smaller pieces.
    FRUITLESS_LIMIT = 256,
    // The time in milliseconds.
    MUTE_TIME = 5,
    LOOPBACK_BUFFER = 131072,
};

int64_t tpc_loop_now(void) { return tpc_nanoseconds() / 1000000; }

// MARK: The watcher.
//
// libcurl reports only the ports of a connection. Swift finds the request of a connection by the ports.

void tpc_loop_watch(tpc_loop *loop, const tpc_pool_watcher *watcher) { loop->watcher = *watcher; }

int tpc_local_port(int descriptor) {
    struct sockaddr_storage address;
    socklen_t count = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &count) != 0) return 0;
    if (address.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    return address.ss_family == AF_INET ? ntohs(((struct sockaddr_in *)&address)->sin_port) : 0;
}

static void tell_opening(tpc_loop *loop, tpc_transfer *transfer, int descriptor, const struct sockaddr *address) {
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

void tpc_tell_closed(tpc_loop *loop, int descriptor) {
    if (loop->watcher.watcher) loop->watcher.closed(loop->watcher.watcher, descriptor);
}

// Reports a connection as closed if its peer has ended the connection. libcurl closes the socket at the next search for a
// connection.
static void tell_if_ended(tpc_loop *loop, int descriptor) {
    if (!loop->watcher.watcher) return;
#if defined(POLLRDHUP)
    struct pollfd look = {.fd = descriptor, .events = POLLRDHUP};
    bool has_ended = poll(&look, 1, 0) > 0;
#else
    char byte;
    bool has_ended = recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
#endif
    if (has_ended) tpc_tell_closed(loop, descriptor);
}

// MARK: Polling of the events that libcurl waits for, without the temporarily muted events.

#if defined(__linux__)
bool tpc_loop_poll_descriptor(tpc_loop *loop, int descriptor, int former, int mask) {
    struct epoll_event event = {
        .events = (mask & CURL_POLL_IN ? EPOLLIN : 0) | (mask & CURL_POLL_OUT ? EPOLLOUT : 0), .data.fd = descriptor};
    int operation = mask == 0 ? EPOLL_CTL_DEL : former == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    int poller = loop->poller.descriptor;
    return epoll_ctl(poller, operation, descriptor, &event) == 0
        || (errno == EEXIST && epoll_ctl(poller, EPOLL_CTL_MOD, descriptor, &event) == 0)
        || (errno == ENOENT && mask && epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event) == 0);
}
#else
bool tpc_loop_poll_descriptor(tpc_loop *loop, int descriptor, int former, int mask) {
    bool polls = true;
    static const struct { int mask, filter; } sides[] = {{CURL_POLL_IN, EVFILT_READ}, {CURL_POLL_OUT, EVFILT_WRITE}};
    for (int index = 0; index < 2; index++) {
        if (!((former ^ mask) & sides[index].mask)) continue;
        struct kevent change;
        EV_SET(&change, descriptor, sides[index].filter, mask & sides[index].mask ? EV_ADD : EV_DELETE, 0, 0, NULL);
        polls &= kevent(loop->poller.descriptor, &change, 1, NULL, 0, NULL) == 0;
    }
    return polls;
}
#endif

interest_t *tpc_interest_of(tpc_loop *loop, int descriptor) {
    return descriptor >= 0 && descriptor < loop->interest_count ? &loop->interests[descriptor] : NULL;
}

// Returns NULL if there is no memory.
static interest_t *make_interest(tpc_loop *loop, int descriptor) {
    if (descriptor < 0) return NULL;
    if (descriptor >= loop->interest_count) {
        int count = descriptor + 64 > 2 * loop->interest_count ? descriptor + 64 : 2 * loop->interest_count;
        interest_t *larger = realloc(loop->interests, (size_t)count * sizeof *larger);
        if (!larger) return NULL;
        for (int index = loop->interest_count; index < count; index++) larger[index] = (interest_t){0};
        loop->interests = larger;
        loop->interest_count = count;
    }
    return &loop->interests[descriptor];
}

static void set_wanted(tpc_loop *loop, interest_t *interest, int mask) {
    loop->wanted_count += (mask != 0) - (interest->wanted != 0);
    interest->wanted = (unsigned char)mask;
}

static void poll_interest(tpc_loop *loop, int descriptor, interest_t *interest, int mask) {
    if (mask == interest->polled) return;
    tpc_loop_poll_descriptor(loop, descriptor, interest->polled, mask);
    interest->polled = (unsigned char)mask;
}

static void mute(tpc_loop *loop, int descriptor, interest_t *interest, int mask, bool is_muted) {
    interest->muted = (unsigned char)(is_muted ? interest->muted | mask : interest->muted & ~mask);
    poll_interest(loop, descriptor, interest, interest->wanted & ~interest->muted);
}

bool tpc_connection_want(tpc_loop *loop, int descriptor, int mask, const tpc_transfer *user) {
    interest_t *interest = mask ? make_interest(loop, descriptor) : tpc_interest_of(loop, descriptor);
    if (!interest) return mask == 0;
    set_wanted(loop, interest, mask);
    if (mask) {
        interest->user = user;
        interest->is_unused = false;
        if (interest->connection == CONNECTION_IDLE) interest->connection = CONNECTION_USED;
    }
    interest->muted &= ~CURL_POLL_OUT;
    // Between two requests, libcurl does not wait for the socket. The loop still polls the socket, which saves two system calls
    // for each request.
    if (mask == 0 && interest->connection != CONNECTION_NONE && interest->polled == CURL_POLL_IN) return true;
    poll_interest(loop, descriptor, interest, mask & ~interest->muted);
    return true;
}

void tpc_connection_hold(tpc_loop *loop, int descriptor, bool is_held) {
    interest_t *interest = tpc_interest_of(loop, descriptor);
    if (interest) mute(loop, descriptor, interest, CURL_POLL_IN, is_held);
}

// MARK: Fruitless polls.
//
// With HTTP/2, libcurl 7.88 and its command line tool poll for space in the socket even during the wait for the peer's window.
// Space is always available, and the thread would never sleep. Only the peer can enlarge the window. After many fruitless
// polls, the loop therefore polls for space only when bytes arrive, and every few milliseconds.

static void count_fruitless(tpc_loop *loop, int descriptor, int mask, bool is_fruitless) {
    interest_t *interest = tpc_interest_of(loop, descriptor);
    if (!interest) return;
    if (!is_fruitless || !(interest->wanted & CURL_POLL_OUT)) {
        interest->fruitless = 0;
    } else if (mask == CURL_CSELECT_OUT && ++interest->fruitless > FRUITLESS_LIMIT) {
        // The next fruitless poll stops the polling of the descriptor again.
        interest->fruitless = FRUITLESS_LIMIT;
        mute(loop, descriptor, interest, CURL_POLL_OUT, true);
        if (loop->unmute_due == INT64_MAX) loop->unmute_due = tpc_loop_now() + MUTE_TIME;
    }
}

void tpc_connections_unmute(tpc_loop *loop) {
    loop->unmute_due = INT64_MAX;
    for (int descriptor = 0; descriptor < loop->interest_count; descriptor++) {
        interest_t *interest = &loop->interests[descriptor];
        if (interest->muted & CURL_POLL_OUT) mute(loop, descriptor, interest, CURL_POLL_OUT, false);
    }
}

// MARK: Events.

void tpc_connections_act(tpc_loop *loop, const tpc_event *events, int count) {
    int running;
    for (int index = 0; index < count; index++) {
        int descriptor = events[index].descriptor, mask = events[index].mask;
        interest_t *interest = tpc_interest_of(loop, descriptor);
        if (interest && interest->wanted == 0) {
            // The peer has closed an idle connection or written bytes. The connection is checked before the next use.
            if (interest->polled) poll_interest(loop, descriptor, interest, 0);
            tell_if_ended(loop, descriptor);
            continue;
        }
        // The event may be older than the end of polling.
        if (interest && interest->muted & CURL_POLL_IN && !(mask &= ~CURL_CSELECT_IN)) continue;
        if (interest && interest->muted & CURL_POLL_OUT) mute(loop, descriptor, interest, CURL_POLL_OUT, false);
        if (interest && mask & CURL_CSELECT_IN && interest->connection == CONNECTION_NEW)
            interest->connection = CONNECTION_USED;
        unsigned steps = loop->steps;
        loop->library->multi_socket_action(loop->multi, descriptor, mask, &running);
        count_fruitless(loop, descriptor, mask, steps == loop->steps);
    }
}

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

int tpc_connection_open(tpc_loop *loop, tpc_transfer *transfer, struct curl_sockaddr *address) {
#if defined(SOCK_CLOEXEC)
    int descriptor = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
#else
    int descriptor = socket(address->family, address->socktype, address->protocol);
    if (descriptor >= 0) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
#endif
    bool is_full = descriptor < 0 && (errno == EMFILE || errno == ENFILE);
    if (is_full || transfer->cause == TPC_CAUSE_NO_DESCRIPTORS)
        transfer->cause = is_full ? TPC_CAUSE_NO_DESCRIPTORS : TPC_CAUSE_NONE;
    // libcurl itself ends a connection over UDP (HTTP/3).
    if (address->socktype != SOCK_STREAM) {
        if (descriptor >= 0 && loop->watcher.watcher) tell_opening(loop, transfer, descriptor, &address->addr);
        return descriptor;
    }
    // For a server on the same machine, a small buffer is enough, and stays in the processor's cache. The system's default
    // buffer grows to megabytes.
    int room = LOOPBACK_BUFFER;
    if (descriptor >= 0 && is_loopback(&address->addr))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    if (descriptor < 0) loop->has_refusal = loop->library->waits_after_refusal;
    interest_t *interest = make_interest(loop, descriptor);
    if (!interest) return descriptor;
    set_wanted(loop, interest, 0);
    int64_t due = tpc_loop_now() + FIRST_BYTE_PATIENCE;
    *interest = (interest_t){.connection = CONNECTION_NEW, .first_byte_due = due,
                             .peer = hash((const unsigned char *)&address->addr, address->addrlen)};
    if (loop->first_byte_due > due) loop->first_byte_due = due;
    if (loop->unused_due == INT64_MAX) loop->unused_due = due - FIRST_BYTE_PATIENCE + loop->unused_time;
    if (loop->watcher.watcher) tell_opening(loop, transfer, descriptor, &address->addr);
    return descriptor;
}

static bool is_connected(int descriptor) {
    struct sockaddr_storage peer;
    socklen_t count = sizeof peer;
    return getpeername(descriptor, (struct sockaddr *)&peer, &count) == 0;
}

int tpc_connection_close(void *user, int descriptor) {
    tpc_loop *loop = user;
    interest_t *interest = tpc_interest_of(loop, descriptor);
    if (interest) {
        set_wanted(loop, interest, 0);
        *interest = (interest_t){0};
    }
    tpc_tell_closed(loop, descriptor);
    if (loop->library->waits_after_refusal && !is_connected(descriptor)) loop->has_refusal = true;
    return close(descriptor);
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
