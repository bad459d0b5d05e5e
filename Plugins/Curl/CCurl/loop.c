// SPDX-License-Identifier: Apache-2.0

// The loop around libcurl's multi handle, with the waits, the polls and the iterations of threads. Uses transfer.c and
// connections.c. Only Swift uses this file.

#if defined(__linux__) && !defined(_GNU_SOURCE)
// This macro is for sched_getaffinity.
#define _GNU_SOURCE
#endif
#include "engine.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#else
#include <fcntl.h>
#include <sys/event.h>
#endif

// A transfer that must continue at once sets a timer of 0. The number is the limit of such timers before the loop serves
// sockets.
enum { TIMERS_IN_A_ROW = 8 };

// MARK: Waiting, by epoll or kqueue.

#if defined(__linux__)

static bool open_descriptors(tpc_poller *this) {
    this->descriptor = epoll_create1(EPOLL_CLOEXEC);
    this->wakeup_read = this->wakeup_write = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = this->wakeup_read};
    return this->descriptor >= 0 && this->wakeup_read >= 0
        && epoll_ctl(this->descriptor, EPOLL_CTL_ADD, this->wakeup_read, &event) == 0;
}

// Returns the number of sockets with events. `is_woken` is true after a wake-up.
static int gather(tpc_poller *this, tpc_event *found, int milliseconds, bool *is_woken) {
    struct epoll_event events[TPC_EVENTS];
    int number = 0, count = epoll_wait(this->descriptor, events, TPC_EVENTS, milliseconds);
    for (int index = 0; index < count; index++) {
        int descriptor = events[index].data.fd;
        unsigned flags = events[index].events;
        if (descriptor == this->wakeup_read) {
            *is_woken = true;
            continue;
        }
        int mask = (flags & EPOLLIN ? CURL_CSELECT_IN : 0) | (flags & EPOLLOUT ? CURL_CSELECT_OUT : 0)
                 | (flags & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        found[number++] = (tpc_event){descriptor, mask};
    }
    return number;
}

#else

static bool open_descriptors(tpc_poller *this) {
    int ends[2] = {-1, -1};
    this->descriptor = kqueue();
    if (pipe(ends) != 0) return false;
    this->wakeup_read = ends[0];
    this->wakeup_write = ends[1];
    for (int index = 0; index < 2; index++) {
        fcntl(ends[index], F_SETFL, O_NONBLOCK);
        fcntl(ends[index], F_SETFD, FD_CLOEXEC);
    }
    struct kevent change;
    EV_SET(&change, this->wakeup_read, EVFILT_READ, EV_ADD, 0, 0, NULL);
    return this->descriptor >= 0 && kevent(this->descriptor, &change, 1, NULL, 0, NULL) == 0;
}

static int gather(tpc_poller *this, tpc_event *found, int milliseconds, bool *is_woken) {
    struct kevent events[TPC_EVENTS];
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    int number = 0, count = kevent(this->descriptor, NULL, 0, events, TPC_EVENTS, milliseconds < 0 ? NULL : &time);
    for (int index = 0; index < count; index++) {
        int descriptor = (int)events[index].ident;
        if (descriptor == this->wakeup_read) {
            *is_woken = true;
            continue;
        }
        int mask = (events[index].filter == EVFILT_WRITE ? CURL_CSELECT_OUT : CURL_CSELECT_IN)
                 | (events[index].flags & EV_ERROR ? CURL_CSELECT_ERR : 0);
        found[number++] = (tpc_event){descriptor, mask};
    }
    return number;
}

#endif

// Waits until no thread is about to write a wake-up (one system call), and returns the descriptor for wake-ups.
static int end_wakeups(tpc_poller *this) {
    int descriptor = atomic_exchange(&this->wakeup_write, -1);
    while (atomic_load(&this->wakers) > 0) sched_yield();
    return descriptor;
}

static void close_poller(tpc_poller *this) {
    if (this->descriptor >= 0) close(this->descriptor);
    int wakeup_write = end_wakeups(this);
    if (this->wakeup_read >= 0) close(this->wakeup_read);
    if (wakeup_write >= 0 && wakeup_write != this->wakeup_read) close(wakeup_write);
    this->descriptor = this->wakeup_read = -1;
}

void tpc_loop_wakeup(tpc_loop *loop) {
    tpc_poller *poller = &loop->poller;
    const uint64_t one = 1;
    atomic_fetch_add(&poller->wakers, 1);
    int descriptor = atomic_load(&poller->wakeup_write);
    while (descriptor >= 0 && write(descriptor, &one, sizeof one) < 0 && errno == EINTR) {}
    atomic_fetch_sub(&poller->wakers, 1);
}

// Bytes that remain in the pipe end the next wait.
static void clear_wakeups(tpc_poller *this) {
    uint64_t values[8];
    while (read(this->wakeup_read, values, sizeof values) < 0 && errno == EINTR) {}
}

// MARK: Busy polling.
//
// Before a blocking wait, a thread polls without sleeping, because sleeping and waking up takes as long as the response of a
// nearby server. On an otherwise idle machine, a single caller makes 1.6 times as many requests. To measure the effect, compare
// `scripts/bench peers --only W1 --clients curl` with `patience` set to 0 in `open_poller`.
//
// The budget limits the CPU cost of polls without a result. A successful poll adds 1. Any other poll subtracts the penalty,
// which doubles each time up to a limit, until the budget is full again. Without the doubling, a server that always answers
// slightly too late costs a call a quarter more CPU.

enum { POLL_BUDGET = 8, POLL_PRICE = 2, POLL_PENALTY = 6, POLL_PENALTY_LIMIT = 96 };

static void account(tpc_poller *this, bool pays_off) {
    int credit = atomic_load_explicit(&this->credit, memory_order_relaxed);
    int penalty = atomic_load_explicit(&this->penalty, memory_order_relaxed);
    credit += pays_off ? 1 : -penalty;
    if (credit >= POLL_BUDGET) credit = POLL_BUDGET, penalty = POLL_PENALTY;
    else if (!pays_off) penalty = penalty < POLL_PENALTY_LIMIT ? 2 * penalty : POLL_PENALTY_LIMIT;
    if (credit < -POLL_PENALTY_LIMIT) credit = -POLL_PENALTY_LIMIT;
    atomic_store_explicit(&this->credit, credit, memory_order_relaxed);
    atomic_store_explicit(&this->penalty, penalty, memory_order_relaxed);
}

// A poll that ends late is not successful, even with events. Other threads have used the core for long, and a sleeping thread
// gets the core back sooner.
static int poll_busily(tpc_poller *this, tpc_event *events, bool *is_woken) {
    int64_t end = tpc_nanoseconds() + this->patience;
    for (bool is_late = false;; is_late = tpc_nanoseconds() >= end) {
        int count = gather(this, events, 0, is_woken);
        if (atomic_exchange_explicit(&this->is_interrupted, false, memory_order_relaxed)) *is_woken = true;
        if (count || is_late) account(this, !is_late);
        if (count || is_late || *is_woken) return count;
        // A server on this machine may need the core.
        sched_yield();
    }
}

// A sleep adds as much as a poll if a poll would have been successful. The time counts from the last iteration, which may have
// sent the request. A wake-up takes about as long as a poll.
static void account_for_sleep(tpc_poller *this, int64_t begin) {
    int64_t iteration_end = atomic_load_explicit(&this->iteration_end, memory_order_relaxed);
    if (tpc_nanoseconds() - (iteration_end > begin ? iteration_end : begin) < 2 * this->patience) account(this, true);
}

bool tpc_loop_may_poll(tpc_loop *loop) {
    return atomic_load_explicit(&loop->poller.credit, memory_order_relaxed) >= POLL_PRICE;
}

void tpc_loop_interrupt_poll(tpc_loop *loop) {
    atomic_store_explicit(&loop->poller.is_interrupted, true, memory_order_relaxed);
}

void tpc_loop_clear_interrupt(tpc_loop *loop) {
    atomic_store_explicit(&loop->poller.is_interrupted, false, memory_order_relaxed);
}

// A container may limit this process to one core.
static bool has_cores(void) {
#if defined(__linux__)
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores) > 1;
#endif
    return sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

// Opens a poller in zeroed memory. Returns false if no descriptors are left. The caller must close the poller in any case.
static bool open_poller(tpc_poller *this, int64_t patience) {
    this->descriptor = this->wakeup_read = this->wakeup_write = -1;
    this->penalty = POLL_PENALTY;
    // With one core, a server on this machine cannot answer while a thread polls.
    this->patience = has_cores() ? patience : 0;
    return open_descriptors(this);
}

void tpc_loop_wait(tpc_loop *loop, int milliseconds) {
    tpc_poller *poller = &loop->poller;
    bool is_woken = false, polls = milliseconds != 0 && tpc_loop_may_poll(loop);
    int64_t begin = milliseconds != 0 && poller->patience > 0 ? tpc_nanoseconds() : 0;
    int count = polls ? poll_busily(poller, loop->events, &is_woken) : 0;
    if (!count && !is_woken) count = gather(poller, loop->events, milliseconds, &is_woken);
    if (is_woken) clear_wakeups(poller);
    if (count && begin && !polls) account_for_sleep(poller, begin);
    loop->event_count = count;
}

void tpc_loop_wait_for_wakeup(tpc_loop *loop, int milliseconds) {
    struct pollfd wakeup = {.fd = loop->poller.wakeup_read, .events = POLLIN};
    loop->event_count = 0;
    if (poll(&wakeup, 1, milliseconds) > 0) clear_wakeups(&loop->poller);
}

// MARK: Life.

static int on_socket(CURL *easy, int descriptor, int what, void *user, void *socket_user) {
    tpc_transfer *transfer = NULL;
    int mask = what == CURL_POLL_REMOVE ? 0 : what & (CURL_POLL_IN | CURL_POLL_OUT);
    tpc_loop *loop = user;
    if (mask) loop->library->easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
    if (!tpc_connection_want(loop, descriptor, mask, transfer)) return -1;
    if (transfer) tpc_transfer_set_descriptor(transfer, descriptor);
    return 0;
}

static int on_timer(CURLM *multi, long milliseconds, void *user) {
    tpc_loop *loop = user;
    loop->timer_due = milliseconds < 0 ? INT64_MAX : milliseconds == 0 ? 0 : tpc_loop_now() + milliseconds;
    return 0;
}

tpc_loop *tpc_loop_create(const tpc_library *library, const tpc_limits *limits) {
    tpc_loop *loop = calloc(1, sizeof *loop);
    if (!loop) return NULL;
    loop->library = library;
    loop->timer_due = loop->unmute_due = loop->first_byte_due = loop->unused_due = INT64_MAX;
    loop->unused_time = limits->unused_time;
    loop->last_ready = &loop->first_ready;
    if (!open_poller(&loop->poller, limits->busy_polling) || !(loop->multi = loop->library->multi_init())) {
        tpc_loop_free(loop);
        return NULL;
    }
    // Without shared sessions, each new connection makes a full handshake. One thread at a time uses them, without a lock.
    if (limits->shares_sessions && (loop->sessions = loop->library->share_init()))
        loop->library->share_setopt(loop->sessions, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    int (*set)(CURLM *, int, ...) = loop->library->multi_setopt;
    set(loop->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    set(loop->multi, CURLMOPT_SOCKETDATA, loop);
    set(loop->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    set(loop->multi, CURLMOPT_TIMERDATA, loop);
    set(loop->multi, CURLMOPT_QUICK_EXIT, 1L);  // From 8.20 on, the end then waits for no thread that resolves a host.
    set(loop->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    set(loop->multi, CURLMOPT_MAXCONNECTS, limits->idle_connections);
    set(loop->multi, CURLMOPT_MAX_HOST_CONNECTIONS, limits->connections_per_host);
    set(loop->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, limits->connections);
    set(loop->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, limits->streams);
    return loop;
}

void tpc_loop_end_waiting(tpc_loop *loop) {
    loop->timer_due = loop->unmute_due = loop->first_byte_due = loop->unused_due = INT64_MAX;
    loop->event_count = 0;
    close_poller(&loop->poller);
    free(loop->interests);
    free(loop->idle_by_port);
    loop->idle_by_port = NULL;
    loop->interests = NULL;
    loop->interest_count = loop->wanted_count = 0;
}

void tpc_loop_close(tpc_loop *loop) {
    tpc_held_sigpipe held;
    tpc_hold_sigpipe(&held, loop->library->raises_sigpipe);
    if (loop->multi) loop->library->multi_cleanup(loop->multi);
    tpc_release_sigpipe(&held);
    loop->multi = NULL;
    tpc_loop_end_waiting(loop);
}

void tpc_loop_free(tpc_loop *loop) {
    tpc_loop_close(loop);
    if (loop->sessions) loop->library->share_cleanup(loop->sessions);
    tpc_origin_release(loop->library, loop->origin);
    free(loop);
}

// MARK: Threads.

static _Thread_local tpc_loop *here;

void tpc_loop_enter(tpc_loop *loop, const char *name) {
    here = loop;
#if defined(__linux__)
    prctl(PR_SET_NAME, name);
#else
    pthread_setname_np(name);
#endif
}

bool tpc_loop_is_here(tpc_loop *loop) { return here == loop; }

// MARK: Iterations.

void tpc_loop_begin_iteration(tpc_loop *loop) {
    loop->outer = tpc_current_loop;
    tpc_current_loop = loop;
    tpc_hold_sigpipe(&loop->sigpipe, loop->library->raises_sigpipe);
}

void tpc_loop_end_iteration(tpc_loop *loop) {
    tpc_release_sigpipe(&loop->sigpipe);
    if (loop->poller.patience > 0)
        atomic_store_explicit(&loop->poller.iteration_end, tpc_nanoseconds(), memory_order_relaxed);
    tpc_current_loop = loop->outer;
}

static void read_messages(tpc_loop *loop) {
    int left;
    for (CURLMsg *message; (message = loop->library->multi_info_read(loop->multi, &left));) {
        tpc_transfer *transfer = NULL;
        if (message->msg != CURLMSG_DONE) continue;
        int result = message->data.result;
        loop->library->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
        if (transfer) tpc_transfer_finish(transfer, result);
    }
}

static void act(tpc_loop *loop, const tpc_event *events, int count) {
    loop->close_notify_count = 0;
    tpc_connections_act(loop, events, count);
    if (count) read_messages(loop);
}

void tpc_loop_act(tpc_loop *loop) {
    act(loop, loop->events, loop->event_count);
    loop->event_count = 0;
}

bool tpc_loop_poll(tpc_loop *loop) {
    // A thread that belongs to another loop, or is in an iteration of another loop, must not poll, because other exchanges wait
    // for the thread.
    if (here || loop->outer) return false;
    if (tpc_loop_timeout(loop->timer_due) == 0) return true;
    tpc_event events[TPC_EVENTS];
    bool is_woken = false;
    int count = poll_busily(&loop->poller, events, &is_woken);
    act(loop, events, count);
    return count > 0;
}

void tpc_loop_run_timers(tpc_loop *loop) {
    int running;
    if (loop->unmute_due != INT64_MAX && loop->unmute_due <= tpc_loop_now()) tpc_connections_unmute(loop);
    for (int count = 0; count < TIMERS_IN_A_ROW && tpc_loop_timeout(loop->timer_due) == 0; count++) {
        loop->timer_due = INT64_MAX;
        loop->library->multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    if (loop->multi) read_messages(loop);
    if (loop->first_byte_due == INT64_MAX && loop->unused_due == INT64_MAX) return;
    // If a transfer has just got an idle connection, libcurl waits for the socket only after the transfer's next run. A timer
    // of 0 or 1 means that the transfer is about to run, because libcurl rounds 0 up to 1.
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

bool tpc_start_thread(size_t stack, void *(*run)(void *), void *context) {
    pthread_t thread;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return false;
    pthread_attr_setstacksize(&attributes, stack);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
#if defined(__APPLE__)
    pthread_attr_set_qos_class_np(&attributes, QOS_CLASS_USER_INITIATED, 0);
#endif
    bool is_started = pthread_create(&thread, &attributes, run, context) == 0;
    pthread_attr_destroy(&attributes);
    return is_started;
}
