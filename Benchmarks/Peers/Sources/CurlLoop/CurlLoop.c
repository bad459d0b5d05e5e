#include "CurlLoop.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__linux__)
#include <sys/epoll.h>

typedef struct {
    int msg;
    void *easy;
    union {
        void *pointer;
        int result;
    } data;
} message_t;

static int (*global_init)(long);
static void *(*easy_init)(void);
static int (*setopt)(void *, int, ...);
static int (*getinfo)(void *, int, ...);
static void *(*multi_init)(void);
static int (*multi_setopt)(void *, int, ...);
static int (*add)(void *, void *);
static int (*take)(void *, void *);
static int (*action)(void *, int, int, int *);
static message_t *(*info_read)(void *, int *);

static bool load(void) {
    void *library = dlopen("libcurl.so.4", RTLD_NOW);
    if (!library) return false;
    *(void **)&global_init = dlsym(library, "curl_global_init");
    *(void **)&easy_init = dlsym(library, "curl_easy_init");
    *(void **)&setopt = dlsym(library, "curl_easy_setopt");
    *(void **)&getinfo = dlsym(library, "curl_easy_getinfo");
    *(void **)&multi_init = dlsym(library, "curl_multi_init");
    *(void **)&multi_setopt = dlsym(library, "curl_multi_setopt");
    *(void **)&add = dlsym(library, "curl_multi_add_handle");
    *(void **)&take = dlsym(library, "curl_multi_remove_handle");
    *(void **)&action = dlsym(library, "curl_multi_socket_action");
    *(void **)&info_read = dlsym(library, "curl_multi_info_read");
    return global_init && global_init(3) == 0;
}

typedef struct {
    double begin;
    long left, post_bytes;
} request_t;

static int poller;
static double due;
static int64_t received;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user) {
    received += (int64_t)(size * count);
    return size * count;
}

static size_t on_read(char *bytes, size_t size, size_t count, void *user) {
    request_t *request = user;
    long part = (long)(size * count) < request->left ? (long)(size * count) : request->left;
    memset(bytes, 'p', (size_t)part);
    request->left -= part;
    return (size_t)part;
}

static int on_socket(void *easy, int descriptor, int what, void *user, void *socket_user) {
    struct epoll_event event = {
        .events = (what & 1 ? EPOLLIN : 0) | (what & 2 ? EPOLLOUT : 0), .data.fd = descriptor};
    if (what == 4) {
        epoll_ctl(poller, EPOLL_CTL_DEL, descriptor, &event);
    } else if (epoll_ctl(poller, EPOLL_CTL_MOD, descriptor, &event) != 0) {
        epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event);
    }
    return 0;
}

static int on_timer(void *multi, long milliseconds, void *user) {
    due = milliseconds < 0 ? -1 : now() + (double)milliseconds * 1e-3;
    return 0;
}

long curl_loop_run(const char *url, const char *authority, int concurrency, double seconds, long post_bytes, long count,
                   double *latencies, long room, int64_t *bytes) {
    if (!load()) return -1;
    void *multi = multi_init();
    request_t *requests = calloc((size_t)concurrency, sizeof *requests);
    poller = epoll_create1(EPOLL_CLOEXEC);
    multi_setopt(multi, 20001, on_socket);
    multi_setopt(multi, 20004, on_timer);
    multi_setopt(multi, 6, (long)concurrency * 2);
    due = -1;
    double end = now() + seconds;
    long done = 0, open = concurrency, begun = concurrency;
    for (int index = 0; index < concurrency; index++) {
        void *easy = easy_init();
        setopt(easy, 10002, url);
        setopt(easy, 10103, &requests[index]);
        setopt(easy, 20011, on_body);
        setopt(easy, 99, 1L);
        setopt(easy, 98, 131072L);
        setopt(easy, 237, 1L);
        if (authority) setopt(easy, 10065, authority);
        if (post_bytes > 0) {
            setopt(easy, 46, 1L);
            setopt(easy, 10036, "POST");
            setopt(easy, 20012, on_read);
            setopt(easy, 10009, &requests[index]);
            setopt(easy, 30115, (int64_t)post_bytes);
            setopt(easy, 280, 262144L);
        }
        requests[index] = (request_t){now(), post_bytes, post_bytes};
        add(multi, easy);
    }
    int running;
    while (open > 0) {
        struct epoll_event events[64];
        int wait = due < 0 ? 1000 : due <= now() ? 0 : (int)((due - now()) * 1e3) + 1;
        int ready = epoll_wait(poller, events, 64, wait);
        for (int index = 0; index < ready; index++) {
            unsigned flags = events[index].events;
            int mask = (flags & EPOLLIN ? 1 : 0) | (flags & EPOLLOUT ? 2 : 0) | (flags & (EPOLLERR | EPOLLHUP) ? 4 : 0);
            action(multi, events[index].data.fd, mask, &running);
        }
        if (due >= 0 && due <= now()) {
            due = -1;
            action(multi, -1, 0, &running);
        }
        int left;
        for (message_t *message; (message = info_read(multi, &left));) {
            if (message->msg != 1) continue;
            void *easy = message->easy;
            if (message->data.result != 0) return -2 - message->data.result;
            request_t *request = NULL;
            getinfo(easy, 0x100000 + 21, &request);
            double time = now();
            if (done < room) latencies[done] = (time - request->begin) * 1e6;
            done += 1;
            take(multi, easy);
            if (time >= end || (count > 0 && begun >= count)) {
                open -= 1;
                continue;
            }
            begun += 1;
            *request = (request_t){time, request->post_bytes, request->post_bytes};
            add(multi, easy);
        }
    }
    *bytes = received;
    return done;
}

#else

long curl_loop_run(const char *url, const char *authority, int concurrency, double seconds, long post_bytes, long count,
                   double *latencies, long room, int64_t *bytes) {
    return -1;
}

#endif
