// SPDX-License-Identifier: Apache-2.0

#include "CTurnpikeValkey.h"
#include "hiredis.h"
#include <dlfcn.h>
#include <stdio.h>

hiredis tpv_hiredis;

static _Thread_local char reason[256];

static bool find(void *library, const char *file, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    if (!symbol) snprintf(reason, sizeof reason, "%s has no %s", file, name);
    *(void **)function = symbol;
    return symbol != NULL;
}

const char *tpv_load(const char *file) {
#if defined(__APPLE__)
    const char *names[] = {"libhiredis.dylib", "/opt/homebrew/lib/libhiredis.dylib", "/usr/local/lib/libhiredis.dylib",
                           "libhiredis.1.3.0.dylib", "libhiredis.1.2.0.dylib", "libhiredis.1.1.0.dylib"};
#else
    const char *names[] = {"libhiredis.so.1.3.0", "libhiredis.so.1.2.0", "libhiredis.so.1.1.0", "libhiredis.so.1.0.0",
                           "libhiredis.so.1",     "libhiredis.so.0.14",  "libhiredis.so"};
#endif
    size_t count = sizeof names / sizeof *names;
    if (file) {
        names[0] = file;
        count = 1;
    }
    void *library = NULL;
    const char *found = names[0];
    for (size_t index = 0; index < count && !library; index++) {
        library = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
        if (library) found = names[index];
    }
    if (!library) {
        snprintf(reason, sizeof reason, "there is no %s", file ? file : "libhiredis");
        return reason;
    }
    hiredis all, *h = &all;
    if (!find(library, found, "redisReaderCreateWithFunctions", &h->reader_create)
        || !find(library, found, "redisReaderFree", &h->reader_free)
        || !find(library, found, "redisReaderFeed", &h->reader_feed)
        || !find(library, found, "redisReaderGetReply", &h->reader_get_reply)) {
        dlclose(library);
        return reason;
    }
    // 1.0 introduced settable allocators and other object functions.
    h->is_one = dlsym(library, "hiredisSetAllocators") != NULL;
    // `redisReconnect` is in 0.13 and later; 0.14 is the oldest version that was tested.
    if (!h->is_one && !dlsym(library, "redisFreeSdsCommand")) {
        snprintf(reason, sizeof reason, "%s is older than 0.14", found);
        dlclose(library);
        return reason;
    }
    tpv_hiredis = all;
    return NULL;
}
