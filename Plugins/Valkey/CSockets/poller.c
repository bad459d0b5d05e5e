// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "CTurnpikeValkey.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#endif

struct tpv_poller {
    int wake_read, wake_write;
    // With this descriptor, a caller on Linux can set an alarm without waking the thread.
    int timer;
    _Atomic int64_t alarm;
    struct pollfd *polls;
    size_t capacity;
};

tpv_poller *tpv_poller_create(void) {
    tpv_poller *poller = calloc(1, sizeof *poller);
    if (!poller) return NULL;
    poller->timer = -1;
    atomic_init(&poller->alarm, INT64_MAX);
#if defined(__linux__)
    poller->wake_read = poller->wake_write = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    poller->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    bool is_made = poller->wake_read >= 0 && poller->timer >= 0;
#else
    int ends[2] = {-1, -1};
    bool is_made = pipe(ends) == 0;
    for (int index = 0; is_made && index < 2; index++) {
        fcntl(ends[index], F_SETFD, FD_CLOEXEC);
        fcntl(ends[index], F_SETFL, O_NONBLOCK);
    }
    poller->wake_read = ends[0];
    poller->wake_write = ends[1];
#endif
    if (is_made) return poller;
    tpv_poller_free(poller);
    return NULL;
}

void tpv_poller_free(tpv_poller *poller) {
    if (!poller) return;
    if (poller->wake_read >= 0) close(poller->wake_read);
    if (poller->wake_write >= 0 && poller->wake_write != poller->wake_read) close(poller->wake_write);
    if (poller->timer >= 0) close(poller->timer);
    free(poller->polls);
    free(poller);
}

void tpv_poller_wake(tpv_poller *poller) {
    uint64_t one = 1;
    // The write may fail, because a full pipe also wakes the thread.
    while (write(poller->wake_write, &one, sizeof one) < 0 && errno == EINTR) {}
}

void tpv_poller_set_alarm(tpv_poller *poller, int64_t nanoseconds) {
    atomic_store(&poller->alarm, nanoseconds);
#if defined(__linux__)
    struct itimerspec time = {0};
    if (nanoseconds != INT64_MAX) {
        // The time is relative, because a tool that changes the time of a process (libfaketime) may not change the timer.
        nanoseconds -= tpv_now();
        if (nanoseconds < 1) nanoseconds = 1;
        time.it_value.tv_sec = (time_t)(nanoseconds / 1000000000);
        time.it_value.tv_nsec = (long)(nanoseconds % 1000000000);
    }
    timerfd_settime(poller->timer, 0, &time, NULL);
#else
    tpv_poller_wake(poller);
#endif
}

static int timeout(tpv_poller *poller) {
#if defined(__linux__)
    (void)poller;
    return -1;
#else
    int64_t alarm = atomic_load(&poller->alarm);
    if (alarm == INT64_MAX) return -1;
    int64_t left = (alarm - tpv_now() + 999999) / 1000000;
    return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
#endif
}

void tpv_poller_wait(tpv_poller *poller, tpv_poll *polls, size_t count, bool sleeps) {
    if (poller->capacity < count + 2) {
        struct pollfd *grown = realloc(poller->polls, (count + 2) * sizeof *grown);
        // Without memory, the function waits only for the sockets that have entries.
        if (grown) {
            poller->polls = grown;
            poller->capacity = count + 2;
        } else if (poller->capacity < 2) {
            return;
        } else {
            count = poller->capacity - 2;
        }
    }
    poller->polls[0] = (struct pollfd){.fd = poller->wake_read, .events = POLLIN};
    poller->polls[1] = (struct pollfd){.fd = poller->timer, .events = POLLIN};
    for (size_t index = 0; index < count; index++) {
        short events = POLLIN;
        if (polls[index].wants_write) events |= POLLOUT;
        poller->polls[index + 2] = (struct pollfd){.fd = polls[index].fd, .events = events};
    }
    int ready = poll(poller->polls, (nfds_t)(count + 2), sleeps ? timeout(poller) : 0);
    uint64_t bytes[8];
    if (ready > 0 && poller->polls[0].revents) {
        while (read(poller->wake_read, bytes, sizeof bytes) < 0 && errno == EINTR) {}
    }
    if (ready > 0 && poller->polls[1].revents) {
        while (read(poller->timer, bytes, sizeof bytes) < 0 && errno == EINTR) {}
    }
    for (size_t index = 0; index < count; index++) {
        short found = ready > 0 ? poller->polls[index + 2].revents : 0;
        polls[index].is_readable = (found & (POLLIN | POLLERR | POLLHUP | POLLNVAL)) != 0;
        polls[index].is_writable = (found & (POLLOUT | POLLERR | POLLHUP | POLLNVAL)) != 0;
    }
}

int64_t tpv_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// The poller whose work between two waits this thread is doing.
static _Thread_local const tpv_poller *current;

void tpv_poller_set_turn(const tpv_poller *poller, bool is_turn) { current = is_turn ? poller : NULL; }

bool tpv_poller_is_turn(const tpv_poller *poller) { return current == poller; }

void tpv_enter_thread(const char *name) {
    // SIGPIPE is blocked, because OpenSSL writes without MSG_NOSIGNAL.
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
#if defined(__APPLE__)
    pthread_setname_np(name);
#else
    pthread_setname_np(pthread_self(), name);
#endif
}
