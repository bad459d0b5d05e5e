#if defined(__linux__) && !defined(_GNU_SOURCE)
// For the cores of a process.
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

// What a look that finds something earns, what one that does not costs, and how much is to be had for another one. The cost
// doubles up to a limit until looks have earned the most that there is: of answers that take a little longer than a look,
// or of which each fourth does, else so many looks were for nothing that a call took a quarter more CPU.
enum { LOOK_GAIN = 1, LOOK_LOSS = 6, LOOK_LOSS_MOST = 96, LOOK_PRICE = 2, LOOK_MOST = 8 };

int64_t tpc_nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// Returns the descriptor that wakes the thread, after the last write to it. A thread that is about to write is waited for;
// it needs one system call.
static int end_wakes(tpc_poller *this) {
    int descriptor = atomic_exchange(&this->wake_write, -1);
    while (atomic_load(&this->wakers) > 0) sched_yield();
    return descriptor;
}

// MARK: The system's half.

#if defined(__linux__)

static bool open_descriptors(tpc_poller *this) {
    this->descriptor = epoll_create1(EPOLL_CLOEXEC);
    this->wake_read = this->wake_write = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = this->wake_read};
    return this->descriptor >= 0 && this->wake_read >= 0
        && epoll_ctl(this->descriptor, EPOLL_CTL_ADD, this->wake_read, &event) == 0;
}

void tpc_poller_close(tpc_poller *this) {
    if (this->descriptor >= 0) close(this->descriptor);
    if (end_wakes(this) >= 0) close(this->wake_read);
    this->descriptor = this->wake_read = -1;
}

void tpc_poller_watch(tpc_poller *this, int descriptor, int before, int mask) {
    struct epoll_event event = {
        .events = (mask & CURL_POLL_IN ? EPOLLIN : 0) | (mask & CURL_POLL_OUT ? EPOLLOUT : 0), .data.fd = descriptor};
    int operation = mask == 0 ? EPOLL_CTL_DEL : before == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (epoll_ctl(this->descriptor, operation, descriptor, &event) == 0) return;
    if (errno == EEXIST) epoll_ctl(this->descriptor, EPOLL_CTL_MOD, descriptor, &event);
    if (errno == ENOENT && mask) epoll_ctl(this->descriptor, EPOLL_CTL_ADD, descriptor, &event);
}

static void write_wake(int descriptor) {
    uint64_t one = 1;
    while (write(descriptor, &one, sizeof one) < 0 && errno == EINTR) {}
}

static void clear_wakes(tpc_poller *this) {
    uint64_t value;
    while (read(this->wake_read, &value, sizeof value) < 0 && errno == EINTR) {}
}

// Returns the number of sockets that have events. `is_woken` says whether the thread was woken.
static int gather(tpc_poller *this, tpc_happening *found, int milliseconds, bool *is_woken) {
    struct epoll_event events[TPC_EVENTS];
    int number = 0, count = epoll_wait(this->descriptor, events, TPC_EVENTS, milliseconds);
    for (int index = 0; index < count; index++) {
        int descriptor = events[index].data.fd;
        unsigned flags = events[index].events;
        if (descriptor == this->wake_read) {
            *is_woken = true;
            continue;
        }
        int mask = (flags & EPOLLIN ? CURL_CSELECT_IN : 0) | (flags & EPOLLOUT ? CURL_CSELECT_OUT : 0)
                 | (flags & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        found[number++] = (tpc_happening){descriptor, mask};
    }
    return number;
}

#else

static bool open_descriptors(tpc_poller *this) {
    int ends[2] = {-1, -1};
    this->descriptor = kqueue();
    if (pipe(ends) != 0) return false;
    this->wake_read = ends[0];
    this->wake_write = ends[1];
    for (int index = 0; index < 2; index++) {
        fcntl(ends[index], F_SETFL, O_NONBLOCK);
        fcntl(ends[index], F_SETFD, FD_CLOEXEC);
    }
    struct kevent change;
    EV_SET(&change, this->wake_read, EVFILT_READ, EV_ADD, 0, 0, NULL);
    return this->descriptor >= 0 && kevent(this->descriptor, &change, 1, NULL, 0, NULL) == 0;
}

void tpc_poller_close(tpc_poller *this) {
    if (this->descriptor >= 0) close(this->descriptor);
    int wake_write = end_wakes(this);
    if (this->wake_read >= 0) close(this->wake_read);
    if (wake_write >= 0) close(wake_write);
    this->descriptor = this->wake_read = -1;
}

void tpc_poller_watch(tpc_poller *this, int descriptor, int before, int mask) {
    static const struct { int mask, filter; } sides[] = {{CURL_POLL_IN, EVFILT_READ}, {CURL_POLL_OUT, EVFILT_WRITE}};
    for (int index = 0; index < 2; index++) {
        if (!((before ^ mask) & sides[index].mask)) continue;
        struct kevent change;
        EV_SET(&change, descriptor, sides[index].filter, mask & sides[index].mask ? EV_ADD : EV_DELETE, 0, 0, NULL);
        kevent(this->descriptor, &change, 1, NULL, 0, NULL);
    }
}

static void write_wake(int descriptor) {
    char one = 1;
    while (write(descriptor, &one, 1) < 0 && errno == EINTR) {}
}

static void clear_wakes(tpc_poller *this) {
    char bytes[64];
    while (read(this->wake_read, bytes, sizeof bytes) > 0) {}
}

// Returns the number of sockets that have events. `is_woken` says whether the thread was woken.
static int gather(tpc_poller *this, tpc_happening *found, int milliseconds, bool *is_woken) {
    struct kevent events[TPC_EVENTS];
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    int number = 0, count = kevent(this->descriptor, NULL, 0, events, TPC_EVENTS, milliseconds < 0 ? NULL : &time);
    for (int index = 0; index < count; index++) {
        int descriptor = (int)events[index].ident;
        if (descriptor == this->wake_read) {
            *is_woken = true;
            continue;
        }
        int mask = (events[index].filter == EVFILT_WRITE ? CURL_CSELECT_OUT : CURL_CSELECT_IN)
                 | (events[index].flags & EV_ERROR ? CURL_CSELECT_ERR : 0);
        found[number++] = (tpc_happening){descriptor, mask};
    }
    return number;
}

#endif

// MARK: Life.

// Of those that this process may use, which a container may bind it to.
static bool has_cores(void) {
#if defined(__linux__)
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores) > 1;
#endif
    return sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

bool tpc_poller_open(tpc_poller *this, int64_t patience) {
    this->descriptor = this->wake_read = this->wake_write = -1;
    this->loss = LOOK_LOSS;
    // With one core alone nobody answers while a thread looks.
    this->patience = has_cores() ? patience : 0;
    return open_descriptors(this);
}

void tpc_poller_wake(tpc_poller *this) {
    atomic_fetch_add(&this->wakers, 1);
    int descriptor = atomic_load(&this->wake_write);
    if (descriptor >= 0) write_wake(descriptor);
    atomic_fetch_sub(&this->wakers, 1);
}

void tpc_poller_end_turn(tpc_poller *this) {
    if (this->patience > 0) atomic_store_explicit(&this->turned, tpc_nanoseconds(), memory_order_relaxed);
}

// MARK: Waiting.

static void judge(tpc_poller *this, bool is_worth_it) {
    int credit = atomic_load_explicit(&this->credit, memory_order_relaxed);
    int loss = atomic_load_explicit(&this->loss, memory_order_relaxed);
    credit += is_worth_it ? LOOK_GAIN : -loss;
    if (credit >= LOOK_MOST) credit = LOOK_MOST, loss = LOOK_LOSS;
    else if (!is_worth_it) loss = loss < LOOK_LOSS_MOST ? 2 * loss : LOOK_LOSS_MOST;
    if (credit < -LOOK_LOSS_MOST) credit = -LOOK_LOSS_MOST;
    atomic_store_explicit(&this->credit, credit, memory_order_relaxed);
    atomic_store_explicit(&this->loss, loss, memory_order_relaxed);
}

// Looks again and again, for to sleep and be woken takes as long as a server nearby to answer. It was not worth it where
// others got the core for long: who sleeps has it back sooner.
int tpc_poller_look(tpc_poller *this, tpc_happening *found, bool *is_woken) {
    int64_t end = tpc_nanoseconds() + this->patience;
    for (bool is_late = false;; is_late = tpc_nanoseconds() >= end) {
        int count = gather(this, found, 0, is_woken);
        if (atomic_exchange_explicit(&this->is_wanted, false, memory_order_relaxed)) *is_woken = true;
        if (count || is_late) judge(this, !is_late);
        if (count || is_late || *is_woken) return count;
        // The server may wait for this very core.
        sched_yield();
    }
}

void tpc_poller_want(tpc_poller *this) { atomic_store_explicit(&this->is_wanted, true, memory_order_relaxed); }

void tpc_poller_unwant(tpc_poller *this) { atomic_store_explicit(&this->is_wanted, false, memory_order_relaxed); }

bool tpc_poller_is_brisk(tpc_poller *this) { return atomic_load_explicit(&this->credit, memory_order_relaxed) >= LOOK_PRICE; }

int tpc_poller_wait(tpc_poller *this, tpc_happening *found, int milliseconds) {
    bool is_woken = false, looks = milliseconds != 0 && tpc_poller_is_brisk(this);
    int64_t begin = milliseconds != 0 && this->patience > 0 ? tpc_nanoseconds() : 0;
    int count = looks ? tpc_poller_look(this, found, &is_woken) : 0;
    if (!count && !is_woken) count = gather(this, found, milliseconds, &is_woken);
    if (is_woken) clear_wakes(this);
    if (looks || !count || !begin) return count;
    // A caller may have asked for it only now; and to wake up takes about as long as a look.
    int64_t turned = atomic_load_explicit(&this->turned, memory_order_relaxed);
    if (tpc_nanoseconds() - (turned > begin ? turned : begin) < 2 * this->patience) judge(this, true);
    return count;
}

void tpc_poller_rest(tpc_poller *this, int milliseconds) {
    struct pollfd wake = {.fd = this->wake_read, .events = POLLIN};
    if (poll(&wake, 1, milliseconds) > 0) clear_wakes(this);
}
