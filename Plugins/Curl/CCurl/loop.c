#if defined(__linux__) && !defined(_GNU_SOURCE)
// For the cores of a process.
#define _GNU_SOURCE
#endif
#include "curl.h"
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#else
#include <fcntl.h>
#include <pthread.h>
#include <sys/event.h>
#endif

enum { EVENTS = 64, LOOPBACK_BUFFER = 131072, TLS_ENDS = 256 };

// What a look that finds something earns, what one that does not costs, and how much is to be had for another one. The cost
// doubles up to a limit until looks have earned the most that there is: of answers that take a little longer than a look,
// or of which each fourth does, else so many looks were for nothing that a call took a quarter more CPU.
enum { LOOK_GAIN = 1, LOOK_LOSS = 6, LOOK_LOSS_MOST = 96, LOOK_PRICE = 2, LOOK_MOST = 8 };

// What is known of a descriptor: what libcurl wants of it, and what the system watches.
typedef struct {
    unsigned char wanted;
    unsigned char watched;
    // Opened through `open_socket`, so that its close is heard of.
    bool is_connection;
} interest;

typedef struct {
    int descriptor;
    int mask;
} happening;

struct tpc_loop {
    CURLM *multi;
    int poller;
    int wake_read;
    atomic_int wake_write;
    // Threads that are about to write there.
    atomic_int wakers;
    interest *interests;
    int interest_count;
    // The descriptors that libcurl waits for.
    int wanted_count;
    happening happenings[EVENTS];
    int happening_count;
    int64_t due;
    // In nanoseconds, how long a thread looks at the sockets before it sleeps; 0 for not at all.
    int64_t patience;
    // What looks have earned, or would have.
    atomic_int credit;
    // What the next look that finds nothing costs.
    atomic_int loss;
    // When the last turn ended, by the clock in nanoseconds.
    _Atomic int64_t turned;
    // Somebody has something for the thread that looks.
    atomic_bool is_wanted;
    // The loop in whose turn the turn of this one began, by code that a turn runs at once; NULL for none.
    tpc_loop *outer;
    tpc_transfer *first, **last;
    tpc_cells *cells;
    // The TLS connections whose ends were announced since the last look at the sockets: whose transfer ends with its
    // connection is done by the same look.
    const void *tls_ends[TLS_ENDS];
    size_t tls_end_count;
};

static int64_t nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int64_t now(void) { return nanoseconds() / 1000000; }

// Gives the descriptor of wakes, to which nobody writes any more: who is about to is waited for, and takes no longer than a
// call of the system.
static int end_wakes(tpc_loop *loop) {
    int descriptor = atomic_exchange(&loop->wake_write, -1);
    while (atomic_load(&loop->wakers) > 0) sched_yield();
    return descriptor;
}

// MARK: The system's half.

#if defined(__linux__)

static bool open_poller(tpc_loop *loop) {
    loop->poller = epoll_create1(EPOLL_CLOEXEC);
    loop->wake_read = loop->wake_write = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = loop->wake_read};
    return loop->poller >= 0 && loop->wake_read >= 0
        && epoll_ctl(loop->poller, EPOLL_CTL_ADD, loop->wake_read, &event) == 0;
}

static void close_poller(tpc_loop *loop) {
    if (loop->poller >= 0) close(loop->poller);
    if (end_wakes(loop) >= 0) close(loop->wake_read);
    loop->poller = loop->wake_read = -1;
}

static void watch(tpc_loop *loop, int descriptor, int before, int mask) {
    struct epoll_event event = {
        .events = (mask & CURL_POLL_IN ? EPOLLIN : 0) | (mask & CURL_POLL_OUT ? EPOLLOUT : 0), .data.fd = descriptor};
    int operation = mask == 0 ? EPOLL_CTL_DEL : before == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (epoll_ctl(loop->poller, operation, descriptor, &event) == 0) return;
    if (errno == EEXIST) epoll_ctl(loop->poller, EPOLL_CTL_MOD, descriptor, &event);
    if (errno == ENOENT && mask) epoll_ctl(loop->poller, EPOLL_CTL_ADD, descriptor, &event);
}

static void write_wake(int descriptor) {
    uint64_t one = 1;
    while (write(descriptor, &one, sizeof one) < 0 && errno == EINTR) {}
}

static void clear_wakes(tpc_loop *loop) {
    uint64_t value;
    while (read(loop->wake_read, &value, sizeof value) < 0 && errno == EINTR) {}
}

// Gives the number of sockets to which something happens, and says whether the thread is to wake.
static int gather(tpc_loop *loop, happening *found, int milliseconds, bool *is_woken) {
    struct epoll_event events[EVENTS];
    int number = 0, count = epoll_wait(loop->poller, events, EVENTS, milliseconds);
    for (int index = 0; index < count; index++) {
        int descriptor = events[index].data.fd;
        unsigned flags = events[index].events;
        if (descriptor == loop->wake_read) {
            *is_woken = true;
            continue;
        }
        int mask = (flags & EPOLLIN ? CURL_CSELECT_IN : 0) | (flags & EPOLLOUT ? CURL_CSELECT_OUT : 0)
                 | (flags & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        found[number++] = (happening){descriptor, mask};
    }
    return number;
}

#else

static bool open_poller(tpc_loop *loop) {
    int ends[2] = {-1, -1};
    loop->poller = kqueue();
    if (pipe(ends) != 0) return false;
    loop->wake_read = ends[0];
    loop->wake_write = ends[1];
    for (int index = 0; index < 2; index++) {
        fcntl(ends[index], F_SETFL, O_NONBLOCK);
        fcntl(ends[index], F_SETFD, FD_CLOEXEC);
    }
    struct kevent change;
    EV_SET(&change, loop->wake_read, EVFILT_READ, EV_ADD, 0, 0, NULL);
    return loop->poller >= 0 && kevent(loop->poller, &change, 1, NULL, 0, NULL) == 0;
}

static void close_poller(tpc_loop *loop) {
    if (loop->poller >= 0) close(loop->poller);
    int wake_write = end_wakes(loop);
    if (loop->wake_read >= 0) close(loop->wake_read);
    if (wake_write >= 0) close(wake_write);
    loop->poller = loop->wake_read = -1;
}

static void watch(tpc_loop *loop, int descriptor, int before, int mask) {
    static const struct { int mask, filter; } sides[] = {{CURL_POLL_IN, EVFILT_READ}, {CURL_POLL_OUT, EVFILT_WRITE}};
    for (int index = 0; index < 2; index++) {
        if (!((before ^ mask) & sides[index].mask)) continue;
        struct kevent change;
        EV_SET(&change, descriptor, sides[index].filter, mask & sides[index].mask ? EV_ADD : EV_DELETE, 0, 0, NULL);
        kevent(loop->poller, &change, 1, NULL, 0, NULL);
    }
}

static void write_wake(int descriptor) {
    char one = 1;
    while (write(descriptor, &one, 1) < 0 && errno == EINTR) {}
}

static void clear_wakes(tpc_loop *loop) {
    char bytes[64];
    while (read(loop->wake_read, bytes, sizeof bytes) > 0) {}
}

// Gives the number of sockets to which something happens, and says whether the thread is to wake.
static int gather(tpc_loop *loop, happening *found, int milliseconds, bool *is_woken) {
    struct kevent events[EVENTS];
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    int number = 0, count = kevent(loop->poller, NULL, 0, events, EVENTS, milliseconds < 0 ? NULL : &time);
    for (int index = 0; index < count; index++) {
        int descriptor = (int)events[index].ident;
        if (descriptor == loop->wake_read) {
            *is_woken = true;
            continue;
        }
        int mask = (events[index].filter == EVFILT_WRITE ? CURL_CSELECT_OUT : CURL_CSELECT_IN)
                 | (events[index].flags & EV_ERROR ? CURL_CSELECT_ERR : 0);
        found[number++] = (happening){descriptor, mask};
    }
    return number;
}

#endif

// MARK: Waiting.

static void judge(tpc_loop *loop, bool is_worth_it) {
    int credit = atomic_load_explicit(&loop->credit, memory_order_relaxed);
    int loss = atomic_load_explicit(&loop->loss, memory_order_relaxed);
    credit += is_worth_it ? LOOK_GAIN : -loss;
    if (credit >= LOOK_MOST) credit = LOOK_MOST, loss = LOOK_LOSS;
    else if (!is_worth_it) loss = loss < LOOK_LOSS_MOST ? 2 * loss : LOOK_LOSS_MOST;
    if (credit < -LOOK_LOSS_MOST) credit = -LOOK_LOSS_MOST;
    atomic_store_explicit(&loop->credit, credit, memory_order_relaxed);
    atomic_store_explicit(&loop->loss, loss, memory_order_relaxed);
}

// Looks again and again, for to sleep and be woken takes as long as a server nearby to answer. It was not worth it where
// others got the core for long: who sleeps has it back sooner.
static int look(tpc_loop *loop, happening *found, bool *is_woken) {
    int64_t end = nanoseconds() + loop->patience;
    for (bool is_late = false;; is_late = nanoseconds() >= end) {
        int count = gather(loop, found, 0, is_woken);
        if (atomic_exchange_explicit(&loop->is_wanted, false, memory_order_relaxed)) *is_woken = true;
        if (count || is_late) judge(loop, !is_late);
        if (count || is_late || *is_woken) return count;
        // The server may wait for this very core.
        sched_yield();
    }
}

void tpc_loop_want(tpc_loop *loop) { atomic_store_explicit(&loop->is_wanted, true, memory_order_relaxed); }

void tpc_loop_unwant(tpc_loop *loop) { atomic_store_explicit(&loop->is_wanted, false, memory_order_relaxed); }

bool tpc_loop_is_brisk(tpc_loop *loop) { return atomic_load_explicit(&loop->credit, memory_order_relaxed) >= LOOK_PRICE; }

void tpc_loop_wait(tpc_loop *loop, int milliseconds) {
    bool is_woken = false, looks = milliseconds != 0 && tpc_loop_is_brisk(loop);
    int64_t begin = milliseconds != 0 && loop->patience > 0 ? nanoseconds() : 0;
    int count = looks ? look(loop, loop->happenings, &is_woken) : 0;
    if (!count && !is_woken) count = gather(loop, loop->happenings, milliseconds, &is_woken);
    if (is_woken) clear_wakes(loop);
    loop->happening_count = count;
    if (looks || !count || !begin) return;
    // A caller may have asked for it only now; and to wake up takes about as long as a look.
    int64_t turned = atomic_load_explicit(&loop->turned, memory_order_relaxed);
    if (nanoseconds() - (turned > begin ? turned : begin) < 2 * loop->patience) judge(loop, true);
}

void tpc_loop_rest(tpc_loop *loop, int milliseconds) {
    struct pollfd wake = {.fd = loop->wake_read, .events = POLLIN};
    loop->happening_count = 0;
    if (poll(&wake, 1, milliseconds) > 0) clear_wakes(loop);
}

// MARK: libcurl's half.

static interest *interest_of(tpc_loop *loop, int descriptor) {
    if (descriptor < 0) return NULL;
    if (descriptor >= loop->interest_count) {
        int count = descriptor + 64 > 2 * loop->interest_count ? descriptor + 64 : 2 * loop->interest_count;
        interest *larger = realloc(loop->interests, (size_t)count * sizeof *larger);
        if (!larger) return NULL;
        for (int index = loop->interest_count; index < count; index++) larger[index] = (interest){0};
        loop->interests = larger;
        loop->interest_count = count;
    }
    return &loop->interests[descriptor];
}

static void set_wanted(tpc_loop *loop, interest *interest, int mask) {
    loop->wanted_count += (mask != 0) - (interest->wanted != 0);
    interest->wanted = (unsigned char)mask;
}

static int on_socket(CURL *easy, int descriptor, int what, void *user, void *socket_user) {
    tpc_loop *loop = user;
    interest *interest = interest_of(loop, descriptor);
    if (!interest) return -1;
    int mask = what == CURL_POLL_REMOVE ? 0 : what & (CURL_POLL_IN | CURL_POLL_OUT);
    set_wanted(loop, interest, mask);
    // Between two requests on one connection libcurl wants nothing of it: the system is told if something does happen.
    if (mask == interest->watched || (mask == 0 && interest->is_connection && interest->watched == CURL_POLL_IN)) return 0;
    watch(loop, descriptor, interest->watched, mask);
    interest->watched = (unsigned char)mask;
    return 0;
}

static int on_timer(CURLM *multi, long milliseconds, void *user) {
    tpc_loop *loop = user;
    loop->due = milliseconds < 0 ? INT64_MAX : milliseconds == 0 ? 0 : now() + milliseconds;
    return 0;
}

static bool is_loopback(const struct sockaddr *address) {
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)address;
        return ntohl(four->sin_addr.s_addr) >> 24 == 127;
    }
    return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static int open_socket(void *user, int purpose, struct curl_sockaddr *address) {
    tpc_loop *loop = user;
#if defined(SOCK_CLOEXEC)
    int descriptor = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
#else
    int descriptor = socket(address->family, address->socktype, address->protocol);
    if (descriptor >= 0) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
#endif
    // There is no delay to fill on the way to this machine: what is sent stays in the processor's cache, where the
    // system's own buffer grows to megabytes.
    int room = LOOPBACK_BUFFER;
    if (descriptor >= 0 && is_loopback(&address->addr))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    interest *interest = interest_of(loop, descriptor);
    if (interest) interest->is_connection = true;
    return descriptor;
}

static int close_socket(void *user, int descriptor) {
    tpc_loop *loop = user;
    interest *known = interest_of(loop, descriptor);
    if (known) {
        set_wanted(loop, known, 0);
        *known = (interest){0};
    }
    return close(descriptor);
}

void tpc_loop_set_sockets(tpc_loop *loop, CURL *easy) {
    tpc_curl.easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    tpc_curl.easy_setopt(easy, CURLOPT_OPENSOCKETDATA, loop);
    tpc_curl.easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    tpc_curl.easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, loop);
}

// Of those that this process may use, which a container may bind it to.
static bool has_cores(void) {
#if defined(__linux__)
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores) > 1;
#endif
    return sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

tpc_loop *tpc_loop_create(const tpc_limits *limits) {
    tpc_loop *loop = calloc(1, sizeof *loop);
    if (!loop) return NULL;
    loop->poller = loop->wake_read = loop->wake_write = -1;
    loop->due = INT64_MAX;
    loop->last = &loop->first;
    loop->loss = LOOK_LOSS;
    // With one core alone nobody answers while a thread looks.
    loop->patience = has_cores() ? limits->busy_polling : 0;
    loop->cells = tpc_cells_create();
    if (!open_poller(loop) || !(loop->multi = tpc_curl.multi_init())) {
        tpc_loop_free(loop);
        return NULL;
    }
    tpc_curl.multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    tpc_curl.multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop);
    tpc_curl.multi_setopt(loop->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    tpc_curl.multi_setopt(loop->multi, CURLMOPT_TIMERDATA, loop);
    tpc_curl.multi_setopt(loop->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    tpc_curl.multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, limits->idle_connections);
    tpc_curl.multi_setopt(loop->multi, CURLMOPT_MAX_HOST_CONNECTIONS, limits->connections_per_host);
    tpc_curl.multi_setopt(loop->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, limits->connections);
    tpc_curl.multi_setopt(loop->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, limits->streams);
    return loop;
}

void tpc_loop_close(tpc_loop *loop) {
    if (loop->multi) tpc_curl.multi_cleanup(loop->multi);
    loop->multi = NULL;
    loop->due = INT64_MAX;
    loop->happening_count = 0;
    close_poller(loop);
}

void tpc_loop_free(tpc_loop *loop) {
    tpc_loop_close(loop);
    tpc_cells_free(loop->cells);
    free(loop->interests);
    free(loop);
}

void tpc_loop_wake(tpc_loop *loop) {
    atomic_fetch_add(&loop->wakers, 1);
    int descriptor = atomic_load(&loop->wake_write);
    if (descriptor >= 0) write_wake(descriptor);
    atomic_fetch_sub(&loop->wakers, 1);
}

// The loop whose turn this thread takes.
static _Thread_local tpc_loop *mine;

void tpc_loop_begin_turn(tpc_loop *loop) {
    loop->outer = mine;
    mine = loop;
    tpc_cells_use(loop->cells);
}

void tpc_loop_end_turn(tpc_loop *loop) {
    if (loop->patience > 0) atomic_store_explicit(&loop->turned, nanoseconds(), memory_order_relaxed);
    mine = loop->outer;
    tpc_cells_use(mine ? mine->cells : NULL);
}

void tpc_loop_heed_tls_end(const void *tls) {
    if (mine && mine->tls_end_count < TLS_ENDS) mine->tls_ends[mine->tls_end_count++] = tls;
}

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

CURLM *tpc_loop_multi(tpc_loop *loop) { return loop->multi; }

static void read_messages(tpc_loop *loop) {
    int left;
    for (CURLMsg *message; (message = tpc_curl.multi_info_read(loop->multi, &left));) {
        tpc_transfer *transfer = NULL;
        if (message->msg != CURLMSG_DONE) continue;
        int result = message->data.result;
        tpc_curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
        if (!transfer) continue;
        transfer->is_done = true;
        transfer->result = result;
        tpc_transfer_heed_tls_ends(transfer, loop->tls_ends, loop->tls_end_count, loop->tls_end_count < TLS_ENDS);
        tpc_transfer_mark(transfer);
    }
}

static void act(tpc_loop *loop, const happening *happenings, int count) {
    int running;
    loop->tls_end_count = 0;
    for (int index = 0; index < count; index++) {
        int descriptor = happenings[index].descriptor;
        interest *interest = interest_of(loop, descriptor);
        if (interest && interest->wanted == 0) {
            // An idle connection that the peer has closed, or written to: libcurl finds out when it next looks at it.
            if (interest->watched) watch(loop, descriptor, interest->watched, 0);
            interest->watched = 0;
            continue;
        }
        tpc_curl.multi_socket_action(loop->multi, descriptor, happenings[index].mask, &running);
    }
    if (count) read_messages(loop);
}

void tpc_loop_act(tpc_loop *loop) {
    act(loop, loop->happenings, loop->happening_count);
    loop->happening_count = 0;
}

bool tpc_loop_look(tpc_loop *loop) {
    // Other exchanges wait for a thread that is another loop's, or in another one's turn.
    if (here || loop->outer) return false;
    if (tpc_loop_timeout(loop->due) == 0) return true;
    happening found[EVENTS];
    bool is_woken = false;
    int count = look(loop, found, &is_woken);
    act(loop, found, count);
    return count > 0;
}

void tpc_loop_run_timers(tpc_loop *loop) {
    int running;
    // A transfer that wants to go on at once asks by a timer of 0: bounded, so that sockets get their turn.
    for (int turn = 0; turn < 8 && loop->due != INT64_MAX && (loop->due == 0 || loop->due <= now()); turn++) {
        loop->due = INT64_MAX;
        tpc_curl.multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    if (loop->multi) read_messages(loop);
}

int64_t tpc_loop_now(void) { return now(); }

int tpc_loop_timeout(int64_t due) {
    if (due == INT64_MAX) return -1;
    if (due == 0) return 0;
    int64_t left = due - now();
    return left <= 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

int64_t tpc_loop_due(tpc_loop *loop) { return loop->due; }

bool tpc_loop_is_idle(tpc_loop *loop) { return loop->wanted_count == 0; }

// MARK: Transfers with something new, in order.

void tpc_loop_mark(tpc_loop *loop, tpc_transfer *transfer, tpc_transfer **link) {
    *link = NULL;
    *loop->last = transfer;
    loop->last = link;
}

tpc_transfer *tpc_loop_next_ready(tpc_loop *loop) {
    tpc_transfer *transfer = loop->first;
    if (transfer) tpc_loop_forget(loop, transfer);
    return transfer;
}

void tpc_loop_forget(tpc_loop *loop, tpc_transfer *transfer) {
    for (tpc_transfer **place = &loop->first; *place; place = tpc_transfer_link(*place)) {
        if (*place != transfer) continue;
        *place = *tpc_transfer_link(transfer);
        if (!*place) loop->last = place;
        break;
    }
    // Its own link points to itself while it is not in the list.
    *tpc_transfer_link(transfer) = transfer;
}
