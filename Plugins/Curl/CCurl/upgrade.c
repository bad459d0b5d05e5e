// SPDX-License-Identifier: Apache-2.0

// A connection that libcurl opens, and another protocol then uses. Uses library.c.

#include "engine.h"
#include <errno.h>
#include <sys/socket.h>

#if defined(__linux__)
#include <sys/epoll.h>
#else
#include <sys/event.h>
#endif

enum { CURLOPT_HTTPPROXYTUNNEL = 61, CURLOPT_CONNECT_ONLY = 141, CURLINFO_ACTIVESOCKET = 0x50002C, CURLE_AGAIN = 81 };

static CURL *easy_of(tpc_transfer *transfer) { return whole(transfer)->easy; }

int tpc_loop_descriptor(const tpc_loop *loop) { return loop->poller.descriptor; }

bool tpc_loop_wait_once(tpc_loop *loop, int descriptor, int sides) {
    int poller = loop->poller.descriptor;
#if defined(__linux__)
    unsigned flags = EPOLLONESHOT | (sides & 1 ? EPOLLIN : 0) | (sides & 2 ? EPOLLOUT : 0);
    struct epoll_event event = {.events = flags, .data.fd = descriptor};
    return epoll_ctl(poller, EPOLL_CTL_MOD, descriptor, &event) == 0
        || (errno == ENOENT && epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event) == 0);
#else
    struct kevent changes[2];
    int count = 0;
    if (sides & 1) EV_SET(&changes[count++], descriptor, EVFILT_READ, EV_ADD | EV_ONESHOT, 0, 0, NULL);
    if (sides & 2) EV_SET(&changes[count++], descriptor, EVFILT_WRITE, EV_ADD | EV_ONESHOT, 0, 0, NULL);
    return kevent(poller, changes, count, NULL, 0, NULL) == 0;
#endif
}

int tpc_loop_found(const tpc_loop *loop, int index, int *sides) {
    if (index >= loop->event_count) return -1;
    *sides = loop->events[index].mask & CURL_CSELECT_ERR ? 3 : loop->events[index].mask;
    return loop->events[index].descriptor;
}

int tpc_upgrade_prepare(tpc_transfer *transfer) {
    int (*set)(CURL *, int, ...) = library_of(whole(transfer))->easy_setopt;
    int code = set(easy_of(transfer), CURLOPT_CONNECT_ONLY, 1L);
    // The buffer holds only a proxy's response, but remains as long as the connection.
    if (!code) code = set(easy_of(transfer), CURLOPT_BUFFERSIZE, 1024L);
    // An HTTP proxy would read the other protocol as requests.
    return code ? code : set(easy_of(transfer), CURLOPT_HTTPPROXYTUNNEL, 1L);
}

int tpc_upgrade_socket(tpc_transfer *transfer) {
    int descriptor = -1;
    return library_of(whole(transfer))->easy_getinfo(easy_of(transfer), CURLINFO_ACTIVESOCKET, &descriptor) == 0 ? descriptor : -1;
}

long tpc_upgrade_read(tpc_transfer *transfer, void *bytes, size_t room) {
    size_t count = 0;
    int code = library_of(whole(transfer))->easy_recv(easy_of(transfer), bytes, room, &count);
    return code == 0 ? (long)count : code == CURLE_AGAIN ? TPC_READ_WAIT : TPC_READ_FAIL;
}

long tpc_upgrade_write(tpc_transfer *transfer, const void *bytes, size_t count) {
    size_t taken = 0;
    int code = library_of(whole(transfer))->easy_send(easy_of(transfer), bytes, count, &taken);
    // libcurl 7.88 may also report success with no bytes taken.
    return code == CURLE_AGAIN || (code == 0 && taken == 0) ? TPC_READ_WAIT : code == 0 ? (long)taken : TPC_READ_FAIL;
}

void tpc_upgrade_finish(tpc_transfer *transfer) {
    int descriptor = tpc_upgrade_socket(transfer);
    if (descriptor >= 0) shutdown(descriptor, SHUT_WR);
}
