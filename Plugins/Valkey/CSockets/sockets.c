// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "CTurnpikeValkey.h"
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

_Static_assert(sizeof(struct sockaddr_storage) <= TPV_ADDRESS_SIZE, "an address has room");

int tpv_resolve(const char *host, uint16_t port, bool is_numeric, tpv_address *addresses, int capacity,
                const char **reason) {
    *reason = "";
    if (*host == '/') {
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        if (strlen(host) >= sizeof name.sun_path || capacity < 1) {
            *reason = "the path is too long";
            return -1;
        }
        strcpy(name.sun_path, host);
        addresses->size = sizeof name;
        memcpy(addresses->bytes, &name, sizeof name);
        return 1;
    }
    char service[8];
    snprintf(service, sizeof service, "%u", port);
    int flags = AI_NUMERICSERV | (is_numeric ? AI_NUMERICHOST : 0);
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags}, *list;
    int code = getaddrinfo(host, service, &hints, &list);
    if (code != 0) {
        *reason = gai_strerror(code);
        return -1;
    }
    int count = 0;
    for (struct addrinfo *entry = list; entry && count < capacity; entry = entry->ai_next) {
        if (entry->ai_addrlen > TPV_ADDRESS_SIZE) continue;
        addresses[count].size = entry->ai_addrlen;
        memcpy(addresses[count].bytes, entry->ai_addr, entry->ai_addrlen);
        count++;
    }
    freeaddrinfo(list);
    if (!count) *reason = "the host has no address";
    return count ? count : -1;
}

int tpv_connect(const tpv_address *address) {
    struct sockaddr_storage name;
    memcpy(&name, address->bytes, sizeof name);
    int fd = socket(name.ss_family, SOCK_STREAM, 0);
    if (fd < 0) return -errno;
    int one = 1;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0) {
        int code = errno;
        close(fd);
        return -code;
    }
    if (name.ss_family != AF_UNIX) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    }
#if defined(SO_NOSIGPIPE)
    setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &one, sizeof one);
#endif
    if (connect(fd, (struct sockaddr *)&name, (socklen_t)address->size) != 0 && errno != EINPROGRESS && errno != EINTR) {
        int code = errno;
        close(fd);
        return -code;
    }
    return fd;
}

int tpv_connect_error(int fd) {
    int code = 0;
    socklen_t size = sizeof code;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) != 0) return errno;
    return code;
}

int64_t tpv_send(int fd, const uint8_t *bytes, size_t count) {
#if defined(MSG_NOSIGNAL)
    int flags = MSG_NOSIGNAL;
#else
    int flags = 0;
#endif
    for (;;) {
        ssize_t size = send(fd, bytes, count, flags);
        if (size >= 0) return size;
        if (errno == EINTR) continue;
        return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
    }
}

int64_t tpv_receive(int fd, uint8_t *bytes, size_t capacity) {
    for (;;) {
        ssize_t size = recv(fd, bytes, capacity, 0);
        if (size >= 0) return size;
        if (errno == EINTR) continue;
        return errno == EAGAIN || errno == EWOULDBLOCK ? TPV_AGAIN : -errno;
    }
}

void tpv_close(int fd) { close(fd); }

void tpv_shutdown(int fd) { shutdown(fd, SHUT_RDWR); }
