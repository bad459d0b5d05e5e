// SPDX-License-Identifier: Apache-2.0

#include "CHiredisPeer.h"

#include <dlfcn.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <stddef.h>
#include <time.h>

// The functions have these types in 0.14 and 1.x; the structures behind the pointers differ.
static void *(*connect_to)(const char *, int);
static void (*disconnect)(void *);
static int (*append)(void *, const char *, ...);
static int (*get_reply)(void *, void **);
static void (*free_reply)(void *);

int hiredis_peer_load(void) {
    static const char *const names[] = {
        "libhiredis.so.1.2.0", "libhiredis.so.1.1.0", "libhiredis.so.1", "libhiredis.so.1.0.0",
        "libhiredis.so.0.14", "libhiredis.dylib",
    };
    if (free_reply) return 1;
    void *library = NULL;
    for (size_t index = 0; !library && index < sizeof names / sizeof *names; index++)
        library = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
    if (!library) return 0;
    *(void **)&connect_to = dlsym(library, "redisConnect");
    *(void **)&disconnect = dlsym(library, "redisFree");
    *(void **)&append = dlsym(library, "redisAppendCommand");
    *(void **)&get_reply = dlsym(library, "redisGetReply");
    *(void **)&free_reply = dlsym(library, "freeReplyObject");
    return connect_to && disconnect && append && get_reply && free_reply;
}

double hiredis_peer_get(int port, const char *key, int count, int depth) {
    if (!hiredis_peer_load()) return -1;
    void *context = connect_to("127.0.0.1", port);
    if (!context) return -1;
    struct timespec begun, ended;
    int failures = 0;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (int done = 0; done < count && !failures; done += depth) {
        for (int index = 0; index < depth; index++) failures += append(context, "GET %s", key) != 0;
        for (int index = 0; index < depth && !failures; index++) {
            void *reply = NULL;
            failures += get_reply(context, &reply) != 0 || !reply;
            // In all versions, the first member is the type, and 1 is a string.
            if (reply) failures += *(int *)reply != 1;
            if (reply) free_reply(reply);
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &ended);
    disconnect(context);
    double elapsed = (ended.tv_sec - begun.tv_sec) * 1e9 + (ended.tv_nsec - begun.tv_nsec);
    return failures ? -1 : elapsed / count;
}

void hiredis_peer_keep_memory(void) {
#if defined(__GLIBC__)
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}
