#include "poller.h"
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/prctl.h>
#else
#include <fcntl.h>
#include <pthread.h>
#endif

enum {
    LOOPBACK_BUFFER = 131072,
    TLS_ENDS = 256,
    // As often in a row a descriptor may be ready for bytes while libcurl has none. It takes a quarter of a MiB at once
    // and passes that on in smaller pieces, as the system has room.
    FRUITLESS_LIMIT = 256,
    // In milliseconds.
    REST = 5,
    // In milliseconds, how long a connection waits for its first byte before an idle one is closed for it.
    SLOT_PATIENCE = 1000,
};

// What is known of a descriptor: what libcurl wants of it, and what the system watches.
typedef struct {
    unsigned char wanted;
    unsigned char watched;
    // Opened through `open_socket`, so that its close is heard of.
    bool is_connection;
    // How often in a row it was ready for bytes and nothing came of it; and whether that is not looked at for a while.
    unsigned short fruitless;
    bool is_resting;
    // Its transfer is paused, though libcurl wants to read.
    bool is_held;
    // Whether something has come on it, and whether it is kept for a later request.
    bool has_come;
    bool is_idle;
    // For whom libcurl last wanted it; to be compared alone, for the transfer may be there no more.
    const tpc_transfer *user;
    // Whom it leads to, as a hash of the address.
    uint32_t peer;
    // When an idle one is closed for it, in milliseconds, if nothing has come by then.
    int64_t slot_due;
} interest;

struct tpc_loop {
    CURLM *multi;
    tpc_poller poller;
    interest *interests;
    int interest_count;
    // The descriptors that libcurl waits for.
    int wanted_count;
    tpc_happening happenings[TPC_EVENTS];
    int happening_count;
    int64_t due;
    // When descriptors that rest are looked at again.
    int64_t rest_due;
    // When a connection has waited long enough for its first byte; and the peers, a bit for each (`peer_bit`), for which one has
    // and there was no idle one to close.
    int64_t slot_due;
    uint64_t lacks_idle;
    // Whether an address of a name was refused; see `tpc_loop_take_refusal`.
    bool has_refusal;
    // Goes up with whatever a transfer does.
    unsigned steps;
    // The loop in whose turn the turn of this one began, by code that a turn runs at once; NULL for none.
    tpc_loop *outer;
    // Those with something new, in order.
    tpc_transfer *first, **last;
    // Those that libcurl knows.
    struct transfer *active;
    // The TLS connections whose ends were announced since the last look at the sockets: whose transfer ends with its
    // connection is done by the same look.
    const void *tls_ends[TLS_ENDS];
    size_t tls_end_count;
};

static int64_t now(void) { return tpc_nanoseconds() / 1000000; }

// MARK: The thread.

void tpc_loop_wait(tpc_loop *loop, int milliseconds) {
    loop->happening_count = tpc_poller_wait(&loop->poller, loop->happenings, milliseconds);
}

void tpc_loop_rest(tpc_loop *loop, int milliseconds) {
    loop->happening_count = 0;
    tpc_poller_rest(&loop->poller, milliseconds);
}

void tpc_loop_wake(tpc_loop *loop) { tpc_poller_wake(&loop->poller); }
void tpc_loop_want(tpc_loop *loop) { tpc_poller_want(&loop->poller); }
void tpc_loop_unwant(tpc_loop *loop) { tpc_poller_unwant(&loop->poller); }
bool tpc_loop_is_brisk(tpc_loop *loop) { return tpc_poller_is_brisk(&loop->poller); }

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

// Has the system watch for what libcurl wants, but for what is not looked at now.
static void watch(tpc_loop *loop, int descriptor, interest *interest) {
    int mask = interest->wanted;
    if (interest->is_held) mask &= ~CURL_POLL_IN;
    if (interest->is_resting) mask &= ~CURL_POLL_OUT;
    if (mask == interest->watched) return;
    tpc_poller_watch(&loop->poller, descriptor, interest->watched, mask);
    interest->watched = (unsigned char)mask;
}

static uint64_t peer_bit(const interest *interest) { return UINT64_C(1) << (interest->peer & 63); }

static int on_socket(CURL *easy, int descriptor, int what, void *user, void *socket_user) {
    tpc_loop *loop = user;
    interest *interest = interest_of(loop, descriptor);
    if (!interest) return -1;
    int mask = what == CURL_POLL_REMOVE ? 0 : what & (CURL_POLL_IN | CURL_POLL_OUT);
    set_wanted(loop, interest, mask);
    interest->is_resting = false;
    if (mask) {
        tpc_transfer *transfer = NULL;
        tpc_curl.easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
        if (transfer) tpc_transfer_use(transfer, descriptor);
        interest->user = transfer;
        interest->is_idle = false;
    }
    // Between two requests on one connection libcurl wants nothing of it: the system is told if something does happen.
    if (mask == 0 && interest->is_connection && interest->watched == CURL_POLL_IN) return 0;
    watch(loop, descriptor, interest);
    return 0;
}

// Nothing is wanted of the socket of a paused transfer either: so a connection is idle from the end of its transfer on.
void tpc_loop_set_idle(tpc_loop *loop, int descriptor, const tpc_transfer *user) {
    interest *interest = interest_of(loop, descriptor);
    if (!interest || interest->user != user || interest->wanted || !interest->has_come) return;
    interest->is_idle = true;
    if (loop->lacks_idle & peer_bit(interest)) loop->slot_due = 0;
}

void tpc_loop_hold(tpc_loop *loop, int descriptor, bool is_held) {
    interest *interest = interest_of(loop, descriptor);
    if (!interest || interest->is_held == is_held) return;
    interest->is_held = is_held;
    watch(loop, descriptor, interest);
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

static uint32_t hash(const unsigned char *bytes, size_t count) {
    uint32_t value = 2166136261;
    for (size_t index = 0; index < count; index++) value = (value ^ bytes[index]) * 16777619;
    return value;
}

static int open_socket(void *user, int purpose, struct curl_sockaddr *address) {
    tpc_transfer *transfer = user;
    tpc_loop *loop = tpc_transfer_loop(transfer);
#if defined(SOCK_CLOEXEC)
    int descriptor = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
#else
    int descriptor = socket(address->family, address->socktype, address->protocol);
    if (descriptor >= 0) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
#endif
    transfer->lacks_descriptors = descriptor < 0 && (errno == EMFILE || errno == ENFILE);
    // There is no delay to fill on the way to this machine: what is sent stays in the processor's cache, where the
    // system's own buffer grows to megabytes.
    int room = LOOPBACK_BUFFER;
    if (descriptor >= 0 && is_loopback(&address->addr))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    if (descriptor < 0) loop->has_refusal = tpc_waits_after_refusal;
    interest *known = interest_of(loop, descriptor);
    if (!known) return descriptor;
    set_wanted(loop, known, 0);
    int64_t slot_due = now() + SLOT_PATIENCE;
    *known = (interest){.is_connection = true, .slot_due = slot_due,
                        .peer = hash((const unsigned char *)&address->addr, address->addrlen)};
    if (loop->slot_due > slot_due) loop->slot_due = slot_due;
    return descriptor;
}

static bool is_connected(int descriptor) {
    struct sockaddr_storage peer;
    socklen_t count = sizeof peer;
    return getpeername(descriptor, (struct sockaddr *)&peer, &count) == 0;
}

static int close_socket(void *user, int descriptor) {
    tpc_loop *loop = user;
    interest *known = interest_of(loop, descriptor);
    if (known) {
        set_wanted(loop, known, 0);
        *known = (interest){0};
    }
    if (tpc_waits_after_refusal && !is_connected(descriptor)) loop->has_refusal = true;
    return close(descriptor);
}

bool tpc_has_descriptors(void) {
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    if (descriptor < 0) return errno != EMFILE && errno != ENFILE;
    close(descriptor);
    return true;
}

// A connection that is made for one transfer is closed for the loop: it may outlive the transfer.
void tpc_loop_set_sockets(tpc_loop *loop, CURL *easy, tpc_transfer *transfer) {
    tpc_curl.easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    tpc_curl.easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer);
    tpc_curl.easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    tpc_curl.easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, loop);
}

tpc_loop *tpc_loop_create(const tpc_limits *limits) {
    tpc_loop *loop = calloc(1, sizeof *loop);
    if (!loop) return NULL;
    loop->due = loop->rest_due = loop->slot_due = INT64_MAX;
    loop->last = &loop->first;
    if (!tpc_poller_open(&loop->poller, limits->busy_polling) || !(loop->multi = tpc_curl.multi_init())) {
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
    loop->due = loop->rest_due = loop->slot_due = INT64_MAX;
    loop->happening_count = 0;
    tpc_poller_close(&loop->poller);
}

void tpc_loop_free(tpc_loop *loop) {
    tpc_loop_close(loop);
    free(loop->interests);
    free(loop);
}

// The loop whose turn this thread takes.
static _Thread_local tpc_loop *mine;

void tpc_loop_begin_turn(tpc_loop *loop) {
    loop->outer = mine;
    mine = loop;
}

void tpc_loop_end_turn(tpc_loop *loop) {
    tpc_poller_end_turn(&loop->poller);
    mine = loop->outer;
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

struct transfer **tpc_loop_active(tpc_loop *loop) { return &loop->active; }

static void read_messages(tpc_loop *loop) {
    int left;
    for (CURLMsg *message; (message = tpc_curl.multi_info_read(loop->multi, &left));) {
        tpc_transfer *transfer = NULL;
        if (message->msg != CURLMSG_DONE) continue;
        int result = message->data.result;
        tpc_curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
        if (!transfer) continue;
        tpc_transfer_finish(transfer, result);
        tpc_transfer_heed_tls_ends(transfer, loop->tls_ends, loop->tls_end_count, loop->tls_end_count < TLS_ENDS);
        tpc_transfer_mark(transfer);
    }
}

// MARK: Rests. With HTTP/2, libcurl waits for room in the socket also where it is the peer who takes no more (7.88, and its
// command line likewise): there is always room then, and the thread would turn as fast as it can. Only the peer's word
// opens its window, so that the room is looked at when something comes, and else now and then.

void tpc_loop_step(tpc_loop *loop) { loop->steps++; }

static void set_resting(tpc_loop *loop, int descriptor, interest *interest, bool rests) {
    interest->is_resting = rests;
    watch(loop, descriptor, interest);
}

static void end_rests(tpc_loop *loop) {
    loop->rest_due = INT64_MAX;
    for (int descriptor = 0; descriptor < loop->interest_count; descriptor++) {
        interest *interest = &loop->interests[descriptor];
        if (interest->is_resting) set_resting(loop, descriptor, interest, false);
    }
}

static void count_fruitless(tpc_loop *loop, int descriptor, int mask, bool is_fruitless) {
    interest *interest = interest_of(loop, descriptor);
    if (!interest) return;
    if (!is_fruitless || !(interest->wanted & CURL_POLL_OUT)) {
        interest->fruitless = 0;
    } else if (mask == CURL_CSELECT_OUT && ++interest->fruitless > FRUITLESS_LIMIT) {
        // The next one is enough then.
        interest->fruitless = FRUITLESS_LIMIT;
        set_resting(loop, descriptor, interest, true);
        if (loop->rest_due == INT64_MAX) loop->rest_due = now() + REST;
    }
}

// MARK: Slots. A server with few workers serves so many connections at a time: those that are kept idle hold its places, and
// others, though the system has made them, wait to be taken. Where one waits, an idle one to the same peer is closed.

static int local_port(int descriptor) {
    struct sockaddr_storage address;
    socklen_t count = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &count) != 0) return 0;
    if (address.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    return address.ss_family == AF_INET ? ntohs(((struct sockaddr_in *)&address)->sin_port) : 0;
}

static interest *next_idle(tpc_loop *loop, uint32_t peer, int *from) {
    for (int descriptor = *from; descriptor < loop->interest_count; descriptor++) {
        interest *idle = &loop->interests[descriptor];
        if (!idle->is_idle || idle->peer != peer) continue;
        // Its next transfer may have begun, and have been paused, before libcurl said anything of it.
        if (tpc_transfers_use_port(loop, local_port(descriptor))) continue;
        *from = descriptor;
        return idle;
    }
    return NULL;
}

// libcurl closes the descriptor when it next looks for a connection, and finds that this one has ended.
static void make_room(tpc_loop *loop) {
    int64_t present = now();
    loop->slot_due = INT64_MAX;
    loop->lacks_idle = 0;
    // Older ones write to it once more when they end TLS, and would raise SIGPIPE.
    if (tpc_version() < 0x075700) return;
    uint32_t sought = 0;
    int from = 0;
    for (int descriptor = 0; descriptor < loop->interest_count; descriptor++) {
        interest *waiting = &loop->interests[descriptor];
        if (!waiting->is_connection || !waiting->wanted || waiting->has_come) continue;
        if (waiting->slot_due <= present) {
            // Two peers may have one bit: then one of them waits until the other one has its place.
            if (loop->lacks_idle & peer_bit(waiting)) continue;
            if (waiting->peer != sought) from = 0;
            sought = waiting->peer;
            interest *idle = next_idle(loop, waiting->peer, &from);
            if (!idle) {
                loop->lacks_idle |= peer_bit(waiting);
                continue;
            }
            idle->is_idle = false;
            shutdown(from, SHUT_RDWR);
            waiting->slot_due = present + SLOT_PATIENCE;
        }
        if (waiting->slot_due < loop->slot_due) loop->slot_due = waiting->slot_due;
    }
}

// MARK: Turns.

bool tpc_loop_take_refusal(tpc_loop *loop) {
    bool has_refusal = loop->has_refusal;
    loop->has_refusal = false;
    return has_refusal;
}

static void act(tpc_loop *loop, const tpc_happening *happenings, int count) {
    int running;
    loop->tls_end_count = 0;
    for (int index = 0; index < count; index++) {
        int descriptor = happenings[index].descriptor;
        interest *interest = interest_of(loop, descriptor);
        if (interest && interest->wanted == 0) {
            // An idle connection that the peer has closed, or written to: libcurl finds out when it next looks at it.
            if (interest->watched) tpc_poller_watch(&loop->poller, descriptor, interest->watched, 0);
            interest->watched = 0;
            continue;
        }
        int mask = happenings[index].mask;
        // What had come before it was held waits there.
        if (interest && interest->is_held && !(mask &= ~CURL_CSELECT_IN)) continue;
        if (interest && interest->is_resting) set_resting(loop, descriptor, interest, false);
        if (interest && mask & CURL_CSELECT_IN) interest->has_come = true;
        unsigned steps = loop->steps;
        tpc_curl.multi_socket_action(loop->multi, descriptor, mask, &running);
        count_fruitless(loop, descriptor, mask, steps == loop->steps);
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
    tpc_happening found[TPC_EVENTS];
    bool is_woken = false;
    int count = tpc_poller_look(&loop->poller, found, &is_woken);
    act(loop, found, count);
    return count > 0;
}

void tpc_loop_run_timers(tpc_loop *loop) {
    int running;
    if (loop->rest_due != INT64_MAX && loop->rest_due <= now()) end_rests(loop);
    // A transfer that wants to go on at once asks by a timer of 0: bounded, so that sockets get their turn.
    for (int turn = 0; turn < 8 && loop->due != INT64_MAX && (loop->due == 0 || loop->due <= now()); turn++) {
        loop->due = INT64_MAX;
        tpc_curl.multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    if (loop->multi) read_messages(loop);
    if (loop->slot_due == INT64_MAX) return;
    // A transfer that libcurl has just given an idle connection says what it wants of it when it next runs, which it is about
    // to: a timer of 1 is one of 0, rounded up.
    int64_t present = now();
    if (loop->slot_due <= present && (loop->due == INT64_MAX || loop->due > present + 1)) make_room(loop);
}

int64_t tpc_loop_now(void) { return now(); }

int tpc_loop_timeout(int64_t due) {
    if (due == INT64_MAX) return -1;
    if (due == 0) return 0;
    int64_t left = due - now();
    return left <= 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

int64_t tpc_loop_due(tpc_loop *loop) {
    int64_t due = loop->due < loop->rest_due ? loop->due : loop->rest_due;
    return due < loop->slot_due ? due : loop->slot_due;
}

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
