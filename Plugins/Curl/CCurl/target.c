// SPDX-License-Identifier: Apache-2.0

#include "transfer.h"
#include <stdlib.h>
#include <string.h>

// What libcurl is told of the URL of a request.
//
// libcurl gets the target of a request as it is to go out (CURLOPT_REQUEST_TARGET), because its own is not always that of the URL:
// 8.14 drops an empty query, to proxies 8.5 does, and 8.23 writes the digits of all escapes in capitals. So all that it needs of
// the URL is the origin.
//
// The origin is given in parts (CURLOPT_CURLU), too, so that libcurl does not read and print it for each request. That saves a
// tenth of the instructions of a small request: 112,000 instead of 126,000 without that line.
//
//     scripts/bench instructions --clients curl

// The place of no URL among those of the proxies.
enum { NO_PROXY = 2 };

static int set_url(transfer_t *this, const char *url, size_t count) {
    char *text = this->url.text;
    if (text && strncmp(text, url, count) == 0 && text[count] == 0) return 0;
    this->url.text = strndup(url, count);
    free(text);
    if (!this->url.text) return CURLE_OUT_OF_MEMORY;
    const unsigned flags = CURLU_PATH_AS_IS | CURLU_DISALLOW_USER;
    bool is_parsed = tpc_curl.url_set(this->url.parts, CURLUPART_URL, this->url.text, flags) == 0;
    // If libcurl sends a request again, it begins with the text.
    tpc_curl.easy_setopt(this->easy, CURLOPT_CURLU, is_parsed ? this->url.parts : NULL);
    return tpc_curl.easy_setopt(this->easy, CURLOPT_URL, this->url.text);
}

static int use_proxy(transfer_t *this, int scheme) {
    const char *url = this->proxy.urls[scheme];
    this->proxy.current = scheme;
    return tpc_curl.easy_setopt(this->easy, CURLOPT_PROXY, url ? url : "");
}

int tpc_set_proxies(tpc_transfer *transfer, const char *http, const char *https) {
    transfer_t *this = whole(transfer);
    const char *urls[] = {http, https};
    for (int scheme = 0; scheme < 2; scheme++) {
        free(this->proxy.urls[scheme]);
        this->proxy.urls[scheme] = urls[scheme] ? strdup(urls[scheme]) : NULL;
        if (urls[scheme] && !this->proxy.urls[scheme]) return CURLE_OUT_OF_MEMORY;
    }
    return use_proxy(this, 0);
}

// An HTTP proxy gets the absolute form, but not for https, which goes through a tunnel.
int tpc_set_target(transfer_t *this, const tpc_request *request) {
    int scheme = request->traits & TPC_DIRECT ? NO_PROXY : request->traits & TPC_SECURE ? 1 : 0;
    int code = this->proxy.current == scheme ? 0 : use_proxy(this, scheme);
    const char *proxy = scheme == 0 ? this->proxy.urls[0] : NULL;
    bool is_proxied = proxy && strncmp(proxy, "http:", 5) == 0;
    bool is_undecided = is_proxied && this->proxy.exceptions && !(request->traits & TPC_PROXIED);
    if (code == 0) code = set_url(this, request->url, is_undecided ? strlen(request->url) : request->origin_count);
    if (code != 0) return code;
    if (!is_undecided)
        return tpc_curl.easy_setopt(this->easy, CURLOPT_REQUEST_TARGET, is_proxied ? request->url : request->target);
    this->request.url = strdup(request->url);
    this->request.target = strdup(request->target);
    if (!this->request.url || !this->request.target) return CURLE_OUT_OF_MEMORY;
    return tpc_curl.easy_setopt(this->easy, CURLOPT_REQUEST_TARGET, NULL);
}

// Before 8.7, libcurl does not tell whether it has chosen a proxy. Then it makes the target itself, which is right except for an
// empty query. It cannot make `*`; the absolute form, which servers also accept (RFC 9112 §3.2.2), replaces it.
void tpc_choose_target(transfer_t *this) {
    long is_proxied = 1;
    bool is_known = tpc_curl.easy_getinfo(this->easy, CURLINFO_USED_PROXY, &is_proxied) == 0;
    if (!is_known && this->request.target[0] != '*') return;
    tpc_curl.easy_setopt(this->easy, CURLOPT_REQUEST_TARGET, is_proxied ? this->request.url : this->request.target);
}
