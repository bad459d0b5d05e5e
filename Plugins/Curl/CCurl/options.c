#include "transfer.h"
#include <stdlib.h>
#include <string.h>

// The options of an easy handle that a configuration or a request sets.

// One block of memory holds the nodes, then the texts.
struct curl_slist *tpc_list_create(const char *lines, size_t count) {
    size_t number = 0;
    for (size_t at = 0; at < count; at += strlen(lines + at) + 1) number++;
    if (number == 0) return NULL;
    struct curl_slist *nodes = malloc(number * sizeof *nodes + count);
    if (!nodes) return NULL;
    char *text = (char *)(nodes + number);
    memcpy(text, lines, count);
    for (size_t index = 0; index < number; index++) {
        nodes[index] = (struct curl_slist){text, index + 1 < number ? &nodes[index + 1] : NULL};
        text += strlen(text) + 1;
    }
    return nodes;
}

// MARK: By the configuration.

int tpc_set_number(tpc_transfer *transfer, int option, long value) {
    if (option == TPC_HTTP_VERSION) whole(transfer)->version = value;
    return tpc_curl.easy_setopt(whole(transfer)->easy, option, value);
}

int tpc_set_text(tpc_transfer *transfer, int option, const char *text) {
    if (option == TPC_NO_PROXY) whole(transfer)->proxy.has_exceptions = text && *text;
    return tpc_curl.easy_setopt(whole(transfer)->easy, option, text);
}

int tpc_set_bytes(tpc_transfer *transfer, int option, const void *bytes, size_t count, bool copies) {
    struct curl_blob blob = {(void *)bytes, count, copies ? CURL_BLOB_COPY : CURL_BLOB_NOCOPY};
    return tpc_curl.easy_setopt(whole(transfer)->easy, option, &blob);
}

int tpc_set_overrides(tpc_transfer *transfer, const char *lines, size_t count) {
    transfer_t *this = whole(transfer);
    struct curl_slist *former = this->overrides;
    this->overrides = tpc_list_create(lines, count);
    int code = tpc_curl.easy_setopt(this->easy, CURLOPT_RESOLVE, this->overrides);
    free(former);
    return code;
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

// MARK: By a request.

// An HTTP proxy gets the absolute form, but not for https, which goes through a tunnel.
int tpc_set_target(transfer_t *this, const tpc_request *request) {
    int scheme = request->traits & TPC_SECURE ? 1 : 0;
    int code = this->proxy.current == scheme ? 0 : use_proxy(this, scheme);
    if (code == 0) code = tpc_curl.easy_setopt(this->easy, CURLOPT_URL, request->url);
    if (code != 0) return code;
    const char *proxy = scheme == 0 ? this->proxy.urls[0] : NULL;
    bool is_proxied = proxy && strncmp(proxy, "http:", 5) == 0;
    if (!is_proxied || !this->proxy.has_exceptions)
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
