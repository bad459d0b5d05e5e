// SPDX-License-Identifier: Apache-2.0

#if defined(__linux__) && !defined(_GNU_SOURCE)
// For sched_getaffinity.
#define _GNU_SOURCE
#endif
#include "poller.h"
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/epoll.h>
#include <sys/eventfd.h>
#else
#include <fcntl.h>
#include <sys/event.h>
#endif

int64_t tpc_nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// Waits until no thread is about to write a wakeup, which takes one system call, then returns the descriptor for wakeups.
static int end_wakeups(tpc_poller *this) {
    int descriptor = atomic_exchange(&this->wakeup_write, -1);
    while (atomic_load(&this->wakers) > 0) sched_yield();
    return descriptor;
}

// MARK: epoll and kqueue.

#if defined(__linux__)

static bool open_descriptors(tpc_poller *this) {
    this->descriptor = epoll_create1(EPOLL_CLOEXEC);
    this->wakeup_read = this->wakeup_write = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = this->wakeup_read};
    return this->descriptor >= 0 && this->wakeup_read >= 0
        && epoll_ctl(this->descriptor, EPOLL_CTL_ADD, this->wakeup_read, &event) == 0;
}

void tpc_poller_close(tpc_poller *this) {
    if (this->descriptor >= 0) close(this->descriptor);
    if (end_wakeups(this) >= 0) close(this->wakeup_read);
    this->descriptor = this->wakeup_read = -1;
}

void tpc_poller_set_interest(tpc_poller *this, int descriptor, int former, int mask) {
    struct epoll_event event = {
        .events = (mask & CURL_POLL_IN ? EPOLLIN : 0) | (mask & CURL_POLL_OUT ? EPOLLOUT : 0), .data.fd = descriptor};
    int operation = mask == 0 ? EPOLL_CTL_DEL : former == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (epoll_ctl(this->descriptor, operation, descriptor, &event) == 0) return;
    if (errno == EEXIST) epoll_ctl(this->descriptor, EPOLL_CTL_MOD, descriptor, &event);
    if (errno == ENOENT && mask) epoll_ctl(this->descriptor, EPOLL_CTL_ADD, descriptor, &event);
}

static void write_wakeup(int descriptor) {
    uint64_t one = 1;
    while (write(descriptor, &one, sizeof one) < 0 && errno == EINTR) {}
}

static void clear_wakeups(tpc_poller *this) {
    uint64_t value;
    while (read(this->wakeup_read, &value, sizeof value) < 0 && errno == EINTR) {}
}

// Returns the number of sockets that have events. `is_woken` says whether the thread was woken.
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

void tpc_poller_close(tpc_poller *this) {
    if (this->descriptor >= 0) close(this->descriptor);
    int wakeup_write = end_wakeups(this);
    if (this->wakeup_read >= 0) close(this->wakeup_read);
    if (wakeup_write >= 0) close(wakeup_write);
    this->descriptor = this->wakeup_read = -1;
}

void tpc_poller_set_interest(tpc_poller *this, int descriptor, int former, int mask) {
    static const struct { int mask, filter; } sides[] = {{CURL_POLL_IN, EVFILT_READ}, {CURL_POLL_OUT, EVFILT_WRITE}};
    for (int index = 0; index < 2; index++) {
        if (!((former ^ mask) & sides[index].mask)) continue;
        struct kevent change;
        EV_SET(&change, descriptor, sides[index].filter, mask & sides[index].mask ? EV_ADD : EV_DELETE, 0, 0, NULL);
        kevent(this->descriptor, &change, 1, NULL, 0, NULL);
    }
}

static void write_wakeup(int descriptor) {
    char one = 1;
    while (write(descriptor, &one, 1) < 0 && errno == EINTR) {}
}

static void clear_wakeups(tpc_poller *this) {
    char bytes[64];
    while (read(this->wakeup_read, bytes, sizeof bytes) > 0) {}
}

// Returns the number of sockets that have events. `is_woken` says whether the thread was woken.
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

// MARK: Busy polling.
//
// Polls without sleep before a blocking wait, because falling asleep and waking up takes as long as a server nearby needs for an
// answer. On a machine that does nothing else, it buys 1.6 times the requests of a single caller. To see it, compare with `patience`
// set to 0 in `tpc_poller_open`:
//
//     scripts/bench peers --only W1 --clients curl
//
// The budget keeps polls that find nothing from costing much CPU. A poll that pays off earns 1. One that does not costs the
// penalty, which doubles with each such poll up to its limit, until the budget is full again. Without the doubling, a server
// that always answers a little too late costs a call a quarter more CPU.

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

// A poll that ends late does not pay off even if it finds something: other threads had the core for long, and a thread that
// sleeps gets it back sooner.
int tpc_poller_poll(tpc_poller *this, tpc_event *events, bool *is_woken) {
    int64_t end = tpc_nanoseconds() + this->patience;
    for (bool is_late = false;; is_late = tpc_nanoseconds() >= end) {
        int count = gather(this, events, 0, is_woken);
        if (atomic_exchange_explicit(&this->is_interrupted, false, memory_order_relaxed)) *is_woken = true;
        if (count || is_late) account(this, !is_late);
        if (count || is_late || *is_woken) return count;
        // The server may need this core.
        sched_yield();
    }
}

// A sleep earns as much as a poll if a poll would have paid off. The time counts from the last turn, in which the request may have
// been sent, and waking up takes about as long as a poll.
static void account_for_sleep(tpc_poller *this, int64_t begin) {
    int64_t turn_end = atomic_load_explicit(&this->turn_end, memory_order_relaxed);
    if (tpc_nanoseconds() - (turn_end > begin ? turn_end : begin) < 2 * this->patience) account(this, true);
}

bool tpc_poller_may_poll(tpc_poller *this) {
    return atomic_load_explicit(&this->credit, memory_order_relaxed) >= POLL_PRICE;
}

void tpc_poller_interrupt(tpc_poller *this) {
    atomic_store_explicit(&this->is_interrupted, true, memory_order_relaxed);
}

void tpc_poller_clear_interrupt(tpc_poller *this) {
    atomic_store_explicit(&this->is_interrupted, false, memory_order_relaxed);
}

void tpc_poller_end_turn(tpc_poller *this) {
    if (this->patience > 0) atomic_store_explicit(&this->turn_end, tpc_nanoseconds(), memory_order_relaxed);
}

// MARK: Life.

// Returns whether this process may use several cores; a container may limit it to one.
static bool has_cores(void) {
#if defined(__linux__)
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores) > 1;
#endif
    return sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

bool tpc_poller_open(tpc_poller *this, int64_t patience) {
    this->descriptor = this->wakeup_read = this->wakeup_write = -1;
    this->penalty = POLL_PENALTY;
    // With one core, no server on this machine can answer while a thread polls.
    this->patience = has_cores() ? patience : 0;
    return open_descriptors(this);
}

void tpc_poller_wakeup(tpc_poller *this) {
    atomic_fetch_add(&this->wakers, 1);
    int descriptor = atomic_load(&this->wakeup_write);
    if (descriptor >= 0) write_wakeup(descriptor);
    atomic_fetch_sub(&this->wakers, 1);
}

// MARK: Waiting.

int tpc_poller_wait(tpc_poller *this, tpc_event *events, int milliseconds) {
    bool is_woken = false, polls = milliseconds != 0 && tpc_poller_may_poll(this);
    int64_t begin = milliseconds != 0 && this->patience > 0 ? tpc_nanoseconds() : 0;
    int count = polls ? tpc_poller_poll(this, events, &is_woken) : 0;
    if (!count && !is_woken) count = gather(this, events, milliseconds, &is_woken);
    if (is_woken) clear_wakeups(this);
    if (count && begin && !polls) account_for_sleep(this, begin);
    return count;
}

void tpc_poller_wait_for_wakeup(tpc_poller *this, int milliseconds) {
    struct pollfd wakeup = {.fd = this->wakeup_read, .events = POLLIN};
    if (poll(&wakeup, 1, milliseconds) > 0) clear_wakeups(this);
}
