// SPDX-License-Identifier: Apache-2.0

#include "pool.h"
#include <stdlib.h>

// What the loop polls: libcurl's interest in each descriptor, without the parts that are muted for a while.

enum {
    // How often in a row a descriptor may be ready for bytes while libcurl has none. libcurl takes a quarter of a MiB at once,
    // and passes it on in smaller pieces, as the system has room.
    FRUITLESS_LIMIT = 256,
    // In milliseconds.
    MUTE_TIME = 5,
};

interest_t *tpc_interest(tpc_loop *loop, int descriptor) {
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

void tpc_interest_set_wanted(tpc_loop *loop, interest_t *interest, int mask) {
    loop->wanted_count += (mask != 0) - (interest->wanted != 0);
    interest->wanted = (unsigned char)mask;
}

static void poll_interest(tpc_loop *loop, int descriptor, interest_t *interest, int mask) {
    if (mask == interest->polled) return;
    tpc_poller_set_interest(&loop->poller, descriptor, interest->polled, mask);
    interest->polled = (unsigned char)mask;
}

static void mute(tpc_loop *loop, int descriptor, interest_t *interest, int mask, bool is_muted) {
    interest->muted = (unsigned char)(is_muted ? interest->muted | mask : interest->muted & ~mask);
    poll_interest(loop, descriptor, interest, interest->wanted & ~interest->muted);
}

int tpc_on_socket(CURL *easy, int descriptor, int what, void *user, void *socket_user) {
    tpc_loop *loop = user;
    interest_t *interest = tpc_interest(loop, descriptor);
    if (!interest) return -1;
    int mask = what == CURL_POLL_REMOVE ? 0 : what & (CURL_POLL_IN | CURL_POLL_OUT);
    tpc_interest_set_wanted(loop, interest, mask);
    if (mask) {
        tpc_transfer *transfer = NULL;
        tpc_curl.easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
        if (transfer) tpc_transfer_set_descriptor(transfer, descriptor);
        interest->user = transfer;
        interest->is_unused = false;
        if (interest->connection == CONNECTION_IDLE) interest->connection = CONNECTION_USED;
    }
    interest->muted &= ~CURL_POLL_OUT;
    // Between two requests libcurl waits for nothing on a connection. It stays polled, which saves two system calls a request.
    if (mask == 0 && interest->connection != CONNECTION_NONE && interest->polled == CURL_POLL_IN) return 0;
    poll_interest(loop, descriptor, interest, mask & ~interest->muted);
    return 0;
}

void tpc_loop_hold(tpc_loop *loop, int descriptor, bool is_held) {
    interest_t *interest = tpc_interest(loop, descriptor);
    if (interest) mute(loop, descriptor, interest, CURL_POLL_IN, is_held);
}

// MARK: Fruitless polls.
//
// With HTTP/2, libcurl waits for room in the socket even if it is the peer that takes no more bytes (7.88, as does its command
// line). There always is room, so the thread would spin. Only the peer opens its window: after many fruitless polls, room is
// polled only when something comes, and every few milliseconds.

static void count_fruitless(tpc_loop *loop, int descriptor, int mask, bool is_fruitless) {
    interest_t *interest = tpc_interest(loop, descriptor);
    if (!interest) return;
    if (!is_fruitless || !(interest->wanted & CURL_POLL_OUT)) {
        interest->fruitless = 0;
    } else if (mask == CURL_CSELECT_OUT && ++interest->fruitless > FRUITLESS_LIMIT) {
        // The next one mutes it again.
        interest->fruitless = FRUITLESS_LIMIT;
        mute(loop, descriptor, interest, CURL_POLL_OUT, true);
        if (loop->unmute_due == INT64_MAX) loop->unmute_due = tpc_loop_now() + MUTE_TIME;
    }
}

void tpc_unmute(tpc_loop *loop) {
    loop->unmute_due = INT64_MAX;
    for (int descriptor = 0; descriptor < loop->interest_count; descriptor++) {
        interest_t *interest = &loop->interests[descriptor];
        if (interest->muted & CURL_POLL_OUT) mute(loop, descriptor, interest, CURL_POLL_OUT, false);
    }
}

// MARK: Events.

void tpc_sockets_act(tpc_loop *loop, const tpc_event *events, int count) {
    int running;
    for (int index = 0; index < count; index++) {
        int descriptor = events[index].descriptor, mask = events[index].mask;
        interest_t *interest = tpc_interest(loop, descriptor);
        if (interest && interest->wanted == 0) {
            // The peer has closed an idle connection, or written to it. libcurl finds out before it uses the connection again.
            if (interest->polled) poll_interest(loop, descriptor, interest, 0);
            tpc_pool_look(loop, descriptor);
            continue;
        }
        // An event may be older than the muting.
        if (interest && interest->muted & CURL_POLL_IN && !(mask &= ~CURL_CSELECT_IN)) continue;
        if (interest && interest->muted & CURL_POLL_OUT) mute(loop, descriptor, interest, CURL_POLL_OUT, false);
        if (interest && mask & CURL_CSELECT_IN && interest->connection == CONNECTION_NEW)
            interest->connection = CONNECTION_USED;
        unsigned steps = loop->steps;
        tpc_curl.multi_socket_action(loop->multi, descriptor, mask, &running);
        count_fruitless(loop, descriptor, mask, steps == loop->steps);
    }
}
