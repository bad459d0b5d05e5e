// SPDX-License-Identifier: Apache-2.0

#include "libcurl.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tpc_functions tpc_curl;

bool tpc_polls_paused;

bool tpc_waits_after_refusal;

static curl_version_info_data *info;
static _Thread_local char reason[256];

static bool find(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    if (!symbol) snprintf(reason, sizeof reason, "libcurl has no %s", name);
    *(void **)function = symbol;
    return symbol != NULL;
}

const char *tpc_load(const char *file, unsigned oldest) {
#if defined(__APPLE__)
    const char *names[] = {"/usr/lib/libcurl.4.dylib", "libcurl.4.dylib"};
#else
    const char *names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
#endif
    if (file) names[0] = names[1] = file;
    void *library = NULL;
    for (size_t index = 0; index < 2 && !library; index++) library = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(reason, sizeof reason, "there is no %s", names[0]);
        return reason;
    }
    tpc_functions found, *f = &found;
    if (!find(library, "curl_global_init_mem", &f->global_init) || !find(library, "curl_version_info", &f->version_info)
        || !find(library, "curl_easy_strerror", &f->easy_strerror) || !find(library, "curl_easy_init", &f->easy_init)
        || !find(library, "curl_easy_cleanup", &f->easy_cleanup) || !find(library, "curl_easy_setopt", &f->easy_setopt)
        || !find(library, "curl_easy_getinfo", &f->easy_getinfo) || !find(library, "curl_easy_pause", &f->easy_pause)
        || !find(library, "curl_url", &f->url) || !find(library, "curl_url_set", &f->url_set)
        || !find(library, "curl_url_cleanup", &f->url_cleanup)
        || !find(library, "curl_slist_append", &f->slist_append)
        || !find(library, "curl_multi_init", &f->multi_init) || !find(library, "curl_multi_cleanup", &f->multi_cleanup)
        || !find(library, "curl_multi_setopt", &f->multi_setopt)
        || !find(library, "curl_multi_add_handle", &f->multi_add_handle)
        || !find(library, "curl_multi_remove_handle", &f->multi_remove_handle)
        || !find(library, "curl_multi_socket_action", &f->multi_socket_action)
        || !find(library, "curl_multi_info_read", &f->multi_info_read)
        || !find(library, "curl_share_init", &f->share_init) || !find(library, "curl_share_setopt", &f->share_setopt)
        || !find(library, "curl_share_cleanup", &f->share_cleanup))
        return reason;
    curl_version_info_data *version = f->version_info(CURLVERSION_FIRST);
    if (!version || version->version_num < oldest) {
        snprintf(reason, sizeof reason, "libcurl %s is older than %u.%u", version ? version->version : "?", oldest >> 16,
                 oldest >> 8 & 0xFF);
        return reason;
    }
    // If this process already uses libcurl, libcurl keeps the memory functions that it has.
    int code = f->global_init(CURL_GLOBAL_DEFAULT, tpc_malloc, tpc_free, tpc_realloc, strdup, calloc);
    if (code != 0) {
        snprintf(reason, sizeof reason, "libcurl %s could not be set up", version->version);
        return reason;
    }
    tpc_curl = found;
    info = version;
    tpc_tls_load(library, tpc_tls_text());
    tpc_polls_paused = version->version_num > 0x075801 && version->version_num < 0x080E00;
    tpc_waits_after_refusal = version->version_num >= 0x075800 && version->version_num < 0x080400;
    return NULL;
}

unsigned tpc_version(void) { return info ? info->version_num : 0; }

const char *tpc_version_text(void) { return info ? info->version : ""; }

const char *tpc_tls_text(void) { return info && info->ssl_version ? info->ssl_version : ""; }

int tpc_features(void) {
    int features = info ? info->features : 0;
    return (features & CURL_VERSION_SSL ? TPC_HAS_TLS : 0) | (features & CURL_VERSION_HTTP2 ? TPC_HAS_HTTP2 : 0)
         | (features & CURL_VERSION_UNIX_SOCKETS ? TPC_HAS_UNIX_SOCKETS : 0);
}

const char *tpc_error_text(int code) { return tpc_curl.easy_strerror(code); }
