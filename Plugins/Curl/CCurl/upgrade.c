// SPDX-License-Identifier: Apache-2.0

// A connection that libcurl opens for another protocol. Uses library.c.

#include "engine.h"
#include <sys/socket.h>

enum { CURLOPT_HTTPPROXYTUNNEL = 61, CURLOPT_CONNECT_ONLY = 141, CURLINFO_ACTIVESOCKET = 0x50002C, CURLE_AGAIN = 81 };

static CURL *easy_of(tpc_transfer *transfer) { return whole(transfer)->easy; }

int tpc_loop_descriptor(const tpc_loop *loop) { return loop->poller.descriptor; }

int tpc_loop_found(const tpc_loop *loop, int index, int *sides) {
    if (index >= loop->event_count) return -1;
    *sides = loop->events[index].mask & CURL_CSELECT_ERR ? 3 : loop->events[index].mask;
    return loop->events[index].descriptor;
}

int tpc_upgrade_prepare(tpc_transfer *transfer) {
    int (*set)(CURL *, int, ...) = library_of(whole(transfer))->easy_setopt;
    int code = set(easy_of(transfer), CURLOPT_CONNECT_ONLY, 1L);
    // The buffer contains only a proxy's response, but remains as long as the connection.
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
    tpc_held_sigpipe held;
    tpc_hold_sigpipe(&held, library_of(whole(transfer))->raises_sigpipe);
    int code = library_of(whole(transfer))->easy_recv(easy_of(transfer), bytes, room, &count);
    tpc_release_sigpipe(&held);
    return code == 0 ? (long)count : code == CURLE_AGAIN ? TPC_READ_WAIT : TPC_READ_FAIL;
}

long tpc_upgrade_write(tpc_transfer *transfer, const void *bytes, size_t count) {
    size_t taken = 0;
    tpc_held_sigpipe held;
    tpc_hold_sigpipe(&held, library_of(whole(transfer))->raises_sigpipe);
    int code = library_of(whole(transfer))->easy_send(easy_of(transfer), bytes, count, &taken);
    tpc_release_sigpipe(&held);
    // libcurl 7.88 may also report success with no bytes taken.
    return code == CURLE_AGAIN || (code == 0 && taken == 0) ? TPC_READ_WAIT : code == 0 ? (long)taken : TPC_READ_FAIL;
}

void tpc_upgrade_finish(tpc_transfer *transfer) {
    int descriptor = tpc_upgrade_socket(transfer);
    if (descriptor >= 0) shutdown(descriptor, SHUT_WR);
}
