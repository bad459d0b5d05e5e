// SPDX-License-Identifier: Apache-2.0

#include "CurlLoop.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__linux__)
#include <sys/epoll.h>
#include <sys/socket.h>

// The used part of libcurl's interface. It is declared here so that the build needs neither the headers nor the library.

typedef void CURL;
typedef void CURLM;

typedef struct {
    int msg;
    CURL *easy;
    union {
        void *pointer;
        int result;
    } data;
} CURLMsg;

enum {
    CURL_GLOBAL_DEFAULT = 3,
    CURLMSG_DONE = 1,
    CURL_POLL_IN = 1,
    CURL_POLL_OUT = 2,
    CURL_POLL_REMOVE = 4,
    CURL_SOCKET_TIMEOUT = -1,
    CURL_CSELECT_IN = 1,
    CURL_CSELECT_OUT = 2,
    CURL_CSELECT_ERR = 4,
    CURLOPT_UPLOAD = 46,
    CURLOPT_BUFFERSIZE = 98,
    CURLOPT_NOSIGNAL = 99,
    CURLOPT_PIPEWAIT = 237,
    CURLOPT_UPLOAD_BUFFERSIZE = 280,
    CURLOPT_URL = 10002,
    CURLOPT_WRITEDATA = 10001,
    CURLOPT_PROXY = 10004,
    CURLOPT_READDATA = 10009,
    CURLOPT_CUSTOMREQUEST = 10036,
    CURLOPT_CAINFO = 10065,
    CURLOPT_PRIVATE = 10103,
    CURLOPT_NOPROXY = 10177,
    CURLOPT_WRITEFUNCTION = 20011,
    CURLOPT_READFUNCTION = 20012,
    CURLOPT_SOCKOPTFUNCTION = 20148,
    CURLOPT_INFILESIZE_LARGE = 30115,
    CURLMOPT_MAXCONNECTS = 6,
    CURLMOPT_SOCKETFUNCTION = 20001,
    CURLMOPT_SOCKETDATA = 10002,
    CURLMOPT_TIMERFUNCTION = 20004,
    CURLMOPT_TIMERDATA = 10005,
    CURLINFO_PRIVATE = 0x100000 + 21,
    CURLINFO_RESPONSE_CODE = 0x200000 + 2,
};

// The same values as in CurlTransport.
enum { RECEIVE_BUFFER = 131072, SEND_BUFFER = 262144, LOOPBACK_BUFFER = 131072 };

// The arrays may be large, because the system provides memory only for pages that are written.
enum { LATENCIES = 4000000, DESCRIPTORS = 4096, EVENTS = 64 };

static struct {
    int (*global_init)(long);
    const char *(*easy_strerror)(int);
    CURL *(*easy_init)(void);
    int (*setopt)(CURL *, int, ...);
    int (*getinfo)(CURL *, int, ...);
    CURLM *(*multi_init)(void);
    int (*multi_setopt)(CURLM *, int, ...);
    int (*add)(CURLM *, CURL *);
    int (*take)(CURLM *, CURL *);
    int (*action)(CURLM *, int, int, int *);
    CURLMsg *(*info_read)(CURLM *, int *);
} curl;

static bool load(void) {
    void *library = dlopen("libcurl.so.4", RTLD_NOW);
    if (!library) return false;
    static const struct {
        const char *name;
        void **place;
    } functions[] = {
        {"curl_global_init", (void **)&curl.global_init},
        {"curl_easy_strerror", (void **)&curl.easy_strerror},
        {"curl_easy_init", (void **)&curl.easy_init},
        {"curl_easy_setopt", (void **)&curl.setopt},
        {"curl_easy_getinfo", (void **)&curl.getinfo},
        {"curl_multi_init", (void **)&curl.multi_init},
        {"curl_multi_setopt", (void **)&curl.multi_setopt},
        {"curl_multi_add_handle", (void **)&curl.add},
        {"curl_multi_remove_handle", (void **)&curl.take},
        {"curl_multi_socket_action", (void **)&curl.action},
        {"curl_multi_info_read", (void **)&curl.info_read},
    };
    for (size_t index = 0; index < sizeof functions / sizeof *functions; index++) {
        if (!(*functions[index].place = dlsym(library, functions[index].name))) return false;
    }
    return curl.global_init(CURL_GLOBAL_DEFAULT) == 0;
}

typedef struct {
    CURL *easy;
    double begin;
    long left;
    int64_t received;
} request_t;

struct curl_loop {
    CURLM *multi;
    int poller;
    int concurrency;
    long post_bytes;
    int64_t expected;
    double due;
    unsigned char watched[DESCRIPTORS];
    request_t *requests;
    double *latencies;
    char fault[256];
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user) {
    request_t *request = user;
    request->received += (int64_t)(size * count);
    return size * count;
}

static size_t on_read(char *bytes, size_t size, size_t count, void *user) {
    request_t *request = user;
    long part = (long)(size * count) < request->left ? (long)(size * count) : request->left;
    memset(bytes, 'p', (size_t)part);
    request->left -= part;
    return (size_t)part;
}

static int on_socket(CURL *easy, int descriptor, int what, void *user, void *socket_user) {
    curl_loop *loop = user;
    if (descriptor >= DESCRIPTORS) return -1;
    struct epoll_event event = {
        .events = (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0), .data.fd = descriptor};
    bool is_watched = loop->watched[descriptor];
    if (what == CURL_POLL_REMOVE) {
        if (is_watched) epoll_ctl(loop->poller, EPOLL_CTL_DEL, descriptor, &event);
    } else {
        epoll_ctl(loop->poller, is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event);
    }
    loop->watched[descriptor] = what != CURL_POLL_REMOVE;
    return 0;
}

static int on_open(void *user, int descriptor, int purpose) {
    int room = LOOPBACK_BUFFER;
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    return 0;
}

static int on_timer(CURLM *multi, long milliseconds, void *user) {
    curl_loop *loop = user;
    loop->due = milliseconds < 0 ? -1 : now() + (double)milliseconds * 1e-3;
    return 0;
}

curl_loop *curl_loop_create(const curl_loop_job *job) {
    if (!load()) return NULL;
    curl_loop *loop = calloc(1, sizeof *loop);
    loop->concurrency = job->concurrency;
    loop->post_bytes = job->post_bytes;
    loop->expected = job->expected;
    loop->due = -1;
    loop->requests = calloc((size_t)job->concurrency, sizeof *loop->requests);
    loop->latencies = malloc(LATENCIES * sizeof *loop->latencies);
    loop->poller = epoll_create1(EPOLL_CLOEXEC);
    loop->multi = curl.multi_init();
    curl.multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl.multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop);
    curl.multi_setopt(loop->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl.multi_setopt(loop->multi, CURLMOPT_TIMERDATA, loop);
    curl.multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, (long)job->concurrency * 2);
    for (int index = 0; index < job->concurrency; index++) {
        request_t *request = &loop->requests[index];
        CURL *easy = request->easy = curl.easy_init();
        curl.setopt(easy, CURLOPT_URL, job->url);
        curl.setopt(easy, CURLOPT_PRIVATE, request);
        curl.setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
        curl.setopt(easy, CURLOPT_WRITEDATA, request);
        curl.setopt(easy, CURLOPT_NOSIGNAL, 1L);
        curl.setopt(easy, CURLOPT_PROXY, "");
        curl.setopt(easy, CURLOPT_NOPROXY, "");
        curl.setopt(easy, CURLOPT_BUFFERSIZE, (long)RECEIVE_BUFFER);
        curl.setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)SEND_BUFFER);
        curl.setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_open);
        if (job->authority) {
            curl.setopt(easy, CURLOPT_CAINFO, job->authority);
            // Use streams of one connection instead of several connections.
            curl.setopt(easy, CURLOPT_PIPEWAIT, 1L);
        }
        if (job->post_bytes > 0) {
            curl.setopt(easy, CURLOPT_UPLOAD, 1L);
            curl.setopt(easy, CURLOPT_CUSTOMREQUEST, "POST");
            curl.setopt(easy, CURLOPT_READFUNCTION, on_read);
            curl.setopt(easy, CURLOPT_READDATA, request);
            curl.setopt(easy, CURLOPT_INFILESIZE_LARGE, (int64_t)job->post_bytes);
        }
    }
    return loop;
}

static void begin(curl_loop *loop, request_t *request, double time) {
    request->begin = time;
    request->left = loop->post_bytes;
    request->received = 0;
    curl.add(loop->multi, request->easy);
}

static const char *check(curl_loop *loop, const request_t *request, int result) {
    long status = 0;
    curl.getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
    if (result != 0) {
        snprintf(loop->fault, sizeof loop->fault, "%s", curl.easy_strerror(result));
    } else if (status < 200 || status > 299 || request->received != loop->expected) {
        snprintf(
            loop->fault, sizeof loop->fault, "status %ld, and %lld bytes came instead of %lld", status,
            (long long)request->received, (long long)loop->expected);
    } else {
        return NULL;
    }
    return loop->fault;
}

static void wait_and_act(curl_loop *loop) {
    int running;
    struct epoll_event events[EVENTS];
    double left = loop->due < 0 ? 1 : loop->due - now();
    int ready = epoll_wait(loop->poller, events, EVENTS, left <= 0 ? 0 : (int)(left * 1e3) + 1);
    for (int index = 0; index < ready; index++) {
        unsigned flags = events[index].events;
        int mask = (flags & EPOLLIN ? CURL_CSELECT_IN : 0) | (flags & EPOLLOUT ? CURL_CSELECT_OUT : 0)
                 | (flags & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        curl.action(loop->multi, events[index].data.fd, mask, &running);
    }
    if (loop->due >= 0 && loop->due <= now()) {
        loop->due = -1;
        curl.action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
}

curl_loop_result curl_loop_run(curl_loop *loop, double seconds, long count) {
    curl_loop_result result = {.latencies = loop->latencies};
    double end = now() + seconds;
    long open = 0, begun = 0;
    while (open < loop->concurrency && (count == 0 || begun < count)) {
        begin(loop, &loop->requests[open++], now());
        begun += 1;
    }
    while (open > 0) {
        wait_and_act(loop);
        int left;
        for (CURLMsg *message; (message = curl.info_read(loop->multi, &left));) {
            if (message->msg != CURLMSG_DONE) continue;
            request_t *request = NULL;
            curl.getinfo(message->easy, CURLINFO_PRIVATE, (char **)&request);
            if ((result.fault = check(loop, request, message->data.result))) return result;
            double time = now();
            if (result.count < LATENCIES) {
                loop->latencies[result.latency_count++] = (time - request->begin) * 1e6;
            }
            result.count += 1;
            curl.take(loop->multi, request->easy);
            if (count > 0 ? begun < count : time < end) {
                begin(loop, request, time);
                begun += 1;
            } else {
                open -= 1;
            }
        }
    }
    return result;
}

#else

curl_loop *curl_loop_create(const curl_loop_job *job) { return NULL; }

curl_loop_result curl_loop_run(curl_loop *loop, double seconds, long count) {
    return (curl_loop_result){.fault = "this loop needs epoll"};
}

#endif
