// SPDX-License-Identifier: Apache-2.0

#include "CCurlSocketPeer.h"

#include <dlfcn.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// The numbers are part of libcurl's binary interface.
enum { again = 81, option_url = 10002, option_connect_only = 141, option_no_signal = 99, info_socket = 0x500000 + 44 };

static void *(*easy_init)(void);
static int (*easy_setopt)(void *, int, ...);
static int (*easy_getinfo)(void *, int, ...);
static int (*easy_perform)(void *);
static int (*easy_send)(void *, const void *, size_t, size_t *);
static int (*easy_recv)(void *, void *, size_t, size_t *);
static void (*easy_cleanup)(void *);

static int load(void) {
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen("libcurl.4.dylib", RTLD_NOW | RTLD_LOCAL);
    if (!library) return 0;
    *(void **)&easy_init = dlsym(library, "curl_easy_init");
    *(void **)&easy_setopt = dlsym(library, "curl_easy_setopt");
    *(void **)&easy_getinfo = dlsym(library, "curl_easy_getinfo");
    *(void **)&easy_perform = dlsym(library, "curl_easy_perform");
    *(void **)&easy_send = dlsym(library, "curl_easy_send");
    *(void **)&easy_recv = dlsym(library, "curl_easy_recv");
    *(void **)&easy_cleanup = dlsym(library, "curl_easy_cleanup");
    return easy_init && easy_setopt && easy_getinfo && easy_perform && easy_send && easy_recv && easy_cleanup;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static int send_all(void *handle, int descriptor, const void *bytes, size_t count) {
    while (count > 0) {
        size_t sent = 0;
        int code = easy_send(handle, bytes, count, &sent);
        struct pollfd ready = { descriptor, POLLOUT, 0 };
        if (code == again) poll(&ready, 1, 1000);
        else if (code) return 0;
        bytes = (const char *)bytes + sent;
        count -= sent;
    }
    return 1;
}

// Opens a connection and reads the head of the answer. After the head, the server sends nothing on its own.
static void *open_peer(const char *url, const char *handshake, int *descriptor) {
    void *handle = easy_init();
    if (!handle) return NULL;
    easy_setopt(handle, option_url, url);
    easy_setopt(handle, option_connect_only, 1L);
    easy_setopt(handle, option_no_signal, 1L);
    char head[4096];
    size_t filled = 0;
    int failed = easy_perform(handle) || easy_getinfo(handle, info_socket, descriptor)
        || !send_all(handle, *descriptor, handshake, strlen(handshake));
    while (!failed && (filled < 4 || memcmp(head + filled - 4, "\r\n\r\n", 4))) {
        size_t count = 0;
        int code = easy_recv(handle, head + filled, sizeof head - filled, &count);
        struct pollfd ready = { *descriptor, POLLIN, 0 };
        if (code == again) poll(&ready, 1, 1000);
        else failed = code || count == 0;
        filled += count;
    }
    if (!failed) return handle;
    easy_cleanup(handle);
    return NULL;
}

static int send_batch(void *handle, int descriptor, int batch, int bytes) {
    unsigned char frame[6 + 125];
    for (int index = 0; index < batch; index++) {
        frame[0] = 0x81;
        frame[1] = 0x80 | bytes;
        unsigned mask = random();
        memcpy(frame + 2, &mask, 4);
        for (int place = 0; place < bytes; place++) frame[6 + place] = 'x' ^ frame[2 + (place & 3)];
        if (!send_all(handle, descriptor, frame, 6 + bytes)) return 0;
    }
    return 1;
}

long curl_socket_peer_run(
    const char *url, const char *handshake, int sockets, int batch, int bytes, double seconds, double *elapsed) {
    if (!load() || sockets > 64) return -1;
    void *handles[64];
    struct pollfd ready[64];
    long came[64] = { 0 }, messages = 0;
    for (int index = 0; index < sockets; index++) {
        ready[index].events = POLLIN;
        if (!(handles[index] = open_peer(url, handshake, &ready[index].fd))) return -1;
    }
    double begun = now();
    for (int index = 0; index < sockets; index++)
        if (!send_batch(handles[index], ready[index].fd, batch, bytes)) return -1;
    while (now() - begun < seconds) {
        if (poll(ready, sockets, 1000) <= 0) return -1;
        for (int index = 0; index < sockets; index++) {
            char buffer[16384];
            size_t count = 0;
            if (!ready[index].revents) continue;
            int code = easy_recv(handles[index], buffer, sizeof buffer, &count);
            if (code == again) continue;
            if (code || count == 0) return -1;
            came[index] += count;
            if (came[index] < (long)batch * (bytes + 2)) continue;
            came[index] = 0;
            messages += batch;
            if (!send_batch(handles[index], ready[index].fd, batch, bytes)) return -1;
        }
    }
    *elapsed = now() - begun;
    for (int index = 0; index < sockets; index++) easy_cleanup(handles[index]);
    return messages;
}
