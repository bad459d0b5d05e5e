// SPDX-License-Identifier: Apache-2.0

#include "loop.h"
#include <stdlib.h>

#if defined(__linux__)
#include <sys/prctl.h>
#else
#include <pthread.h>
#endif

// The loop around libcurl's multi handle: its life, its turns, and the transfers that have news.

// A transfer that wants to go on at once sets a timer of 0. So many such timers run before sockets get their turn.
enum { TIMERS_IN_A_ROW = 8 };

int64_t tpc_loop_now(void) { return tpc_nanoseconds() / 1000000; }

// MARK: Life.

static int on_timer(CURLM *multi, long milliseconds, void *user) {
    tpc_loop *loop = user;
    loop->timer_due = milliseconds < 0 ? INT64_MAX : milliseconds == 0 ? 0 : tpc_loop_now() + milliseconds;
    return 0;
}

tpc_loop *tpc_loop_create(const tpc_limits *limits) {
    tpc_loop *loop = calloc(1, sizeof *loop);
    if (!loop) return NULL;
    loop->timer_due = loop->unmute_due = loop->first_byte_due = loop->unused_due = INT64_MAX;
    loop->unused_time = limits->unused_time;
    loop->last_ready = &loop->first_ready;
    if (!tpc_poller_open(&loop->poller, limits->busy_polling) || !(loop->multi = tpc_curl.multi_init())) {
        tpc_loop_free(loop);
        return NULL;
    }
    // Without it each new connection makes a whole handshake. It needs no lock: one thread at a time uses the loop.
    if (limits->shares_sessions && (loop->sessions = tpc_curl.share_init()))
        tpc_curl.share_setopt(loop->sessions, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    int (*set)(CURLM *, int, ...) = tpc_curl.multi_setopt;
    set(loop->multi, CURLMOPT_SOCKETFUNCTION, tpc_on_socket);
    set(loop->multi, CURLMOPT_SOCKETDATA, loop);
    set(loop->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    set(loop->multi, CURLMOPT_TIMERDATA, loop);
    set(loop->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    set(loop->multi, CURLMOPT_MAXCONNECTS, limits->idle_connections);
    set(loop->multi, CURLMOPT_MAX_HOST_CONNECTIONS, limits->connections_per_host);
    set(loop->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, limits->connections);
    set(loop->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, limits->streams);
    return loop;
}

void tpc_loop_close(tpc_loop *loop) {
    if (loop->multi) tpc_curl.multi_cleanup(loop->multi);
    loop->multi = NULL;
    loop->timer_due = loop->unmute_due = loop->first_byte_due = loop->unused_due = INT64_MAX;
    loop->event_count = 0;
    tpc_poller_close(&loop->poller);
}

void tpc_loop_free(tpc_loop *loop) {
    tpc_loop_close(loop);
    if (loop->sessions) tpc_curl.share_cleanup(loop->sessions);
    free(loop->interests);
    free(loop);
}

// MARK: Threads.

// The loop for which this thread waits.
static _Thread_local tpc_loop *here;
// The loop whose turn this thread is in.
static _Thread_local tpc_loop *current;

void tpc_loop_enter(tpc_loop *loop, const char *name) {
    here = loop;
#if defined(__linux__)
    prctl(PR_SET_NAME, name);
#else
    pthread_setname_np(name);
#endif
}

bool tpc_loop_is_here(tpc_loop *loop) { return here == loop; }

void tpc_loop_wakeup(tpc_loop *loop) { tpc_poller_wakeup(&loop->poller); }

void tpc_loop_wait(tpc_loop *loop, int milliseconds) {
    loop->event_count = tpc_poller_wait(&loop->poller, loop->events, milliseconds);
}

void tpc_loop_wait_for_wakeup(tpc_loop *loop, int milliseconds) {
    loop->event_count = 0;
    tpc_poller_wait_for_wakeup(&loop->poller, milliseconds);
}

bool tpc_loop_may_poll(tpc_loop *loop) { return tpc_poller_may_poll(&loop->poller); }
void tpc_loop_interrupt_poll(tpc_loop *loop) { tpc_poller_interrupt(&loop->poller); }
void tpc_loop_clear_interrupt(tpc_loop *loop) { tpc_poller_clear_interrupt(&loop->poller); }

// MARK: Turns.

void tpc_loop_begin_turn(tpc_loop *loop) {
    loop->outer = current;
    current = loop;
}

void tpc_loop_end_turn(tpc_loop *loop) {
    tpc_poller_end_turn(&loop->poller);
    current = loop->outer;
}

void tpc_loop_note_close_notify(const void *session) {
    if (current && current->close_notify_count < TPC_CLOSE_NOTIFIES)
        current->close_notifies[current->close_notify_count++] = session;
}

static void read_messages(tpc_loop *loop) {
    int left;
    for (CURLMsg *message; (message = tpc_curl.multi_info_read(loop->multi, &left));) {
        tpc_transfer *transfer = NULL;
        if (message->msg != CURLMSG_DONE) continue;
        int result = message->data.result;
        tpc_curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
        if (transfer) tpc_transfer_finish(transfer, result);
    }
}

static void act(tpc_loop *loop, const tpc_event *events, int count) {
    loop->close_notify_count = 0;
    tpc_sockets_act(loop, events, count);
    if (count) read_messages(loop);
}

void tpc_loop_act(tpc_loop *loop) {
    act(loop, loop->events, loop->event_count);
    loop->event_count = 0;
}

bool tpc_loop_poll(tpc_loop *loop) {
    // Other exchanges wait for a thread that belongs to another loop, or is in its turn.
    if (here || loop->outer) return false;
    if (tpc_loop_timeout(loop->timer_due) == 0) return true;
    tpc_event events[TPC_EVENTS];
    bool is_woken = false;
    int count = tpc_poller_poll(&loop->poller, events, &is_woken);
    act(loop, events, count);
    return count > 0;
}

void tpc_loop_run_timers(tpc_loop *loop) {
    int running;
    if (loop->unmute_due != INT64_MAX && loop->unmute_due <= tpc_loop_now()) tpc_unmute(loop);
    for (int count = 0; count < TIMERS_IN_A_ROW && tpc_loop_timeout(loop->timer_due) == 0; count++) {
        loop->timer_due = INT64_MAX;
        tpc_curl.multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    if (loop->multi) read_messages(loop);
    if (loop->first_byte_due == INT64_MAX && loop->unused_due == INT64_MAX) return;
    // A transfer to which libcurl has just given an idle connection sets the interest when it runs next. It is about to if a
    // timer of 0 or 1 is set, because libcurl rounds 0 up to 1.
    int64_t present = tpc_loop_now();
    bool is_about_to_run = loop->timer_due != INT64_MAX && loop->timer_due <= present + 1;
    if (is_about_to_run) return;
    if (loop->first_byte_due <= present) tpc_connections_make_room(loop);
    if (loop->unused_due <= present) tpc_connections_end_unused(loop);
}

int tpc_loop_timeout(int64_t due) {
    if (due == INT64_MAX) return -1;
    if (due == 0) return 0;
    int64_t left = due - tpc_loop_now();
    return left <= 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

int64_t tpc_loop_due(tpc_loop *loop) {
    int64_t due = loop->timer_due < loop->unmute_due ? loop->timer_due : loop->unmute_due;
    due = due < loop->first_byte_due ? due : loop->first_byte_due;
    return due < loop->unused_due ? due : loop->unused_due;
}

bool tpc_loop_is_idle(tpc_loop *loop) { return loop->wanted_count == 0; }

// MARK: Transfers that have news, in order.

void tpc_loop_mark(tpc_loop *loop, tpc_transfer *transfer, tpc_transfer **next) {
    *next = NULL;
    *loop->last_ready = transfer;
    loop->last_ready = next;
}

tpc_transfer *tpc_loop_next_ready(tpc_loop *loop) {
    tpc_transfer *transfer = loop->first_ready;
    if (transfer) tpc_loop_forget(loop, transfer);
    return transfer;
}

void tpc_loop_forget(tpc_loop *loop, tpc_transfer *transfer) {
    tpc_transfer **own = tpc_transfer_next_ready(transfer);
    for (tpc_transfer **place = &loop->first_ready; *place; place = tpc_transfer_next_ready(*place)) {
        if (*place != transfer) continue;
        *place = *own;
        if (!*place) loop->last_ready = place;
        break;
    }
    *own = transfer;
}
