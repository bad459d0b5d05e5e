// SPDX-License-Identifier: Apache-2.0

// Sets libcurl's options for a request, and handles the callbacks until libcurl has sent the request once. Uses http2.c,
// connections.c and library.c.

#include "engine.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

// MARK: Options of a configuration.

int tpc_set_number(tpc_transfer *transfer, int option, long value) {
    if (option == TPC_HTTP_VERSION) whole(transfer)->version = value;
    return library_of(whole(transfer))->easy_setopt(whole(transfer)->easy, option, value);
}

int tpc_set_text(tpc_transfer *transfer, int option, const char *text) {
    transfer_t *this = whole(transfer);
    char **kept = option == TPC_NO_PROXY ? &this->proxy.exceptions : option == TPC_UNIX_SOCKET_PATH ? &this->unix_socket : NULL;
    if (kept) {
        free(*kept);
        *kept = text && *text ? strdup(text) : NULL;
        if (text && *text && !*kept) return CURLE_OUT_OF_MEMORY;
    }
    return library_of(this)->easy_setopt(this->easy, option, text);
}

int tpc_set_bytes(tpc_transfer *transfer, int option, const void *bytes, size_t count, bool copies) {
    struct curl_blob blob = {(void *)bytes, count, copies ? CURL_BLOB_COPY : CURL_BLOB_NOCOPY};
    return library_of(whole(transfer))->easy_setopt(whole(transfer)->easy, option, &blob);
}

int tpc_set_overrides(tpc_transfer *transfer, const char *lines, size_t count) {
    transfer_t *this = whole(transfer);
    struct curl_slist *list;
    int code = tpc_list_create(&list, lines, count);
    if (code == 0) code = library_of(this)->easy_setopt(this->easy, CURLOPT_RESOLVE, list);
    // The handle refers to the last list that was set.
    struct curl_slist *unused = code == 0 ? this->overrides : list;
    if (code == 0) this->overrides = list;
    free(unused);
    return code;
}

// MARK: The target.
//
// libcurl gets the exact target to send (CURLOPT_REQUEST_TARGET), because libcurl's own target may differ from the URL. libcurl
// 8.14 drops an empty query, 8.5 drops the query for proxies, and 8.23 writes all escapes in capitals. With this target,
// libcurl needs only the origin of the URL.
//
// libcurl also gets the parts of the origin (CURLOPT_CURLU), and need not parse and print the origin for each request. The
// parts save a tenth of the instructions of a small request, with 112,000 instead of 126,000 (`scripts/bench instructions
// --clients curl`).

// The index for no proxy among the URLs of the proxies.
enum { NO_PROXY = 2 };

static bool is_origin(const tpc_origin *this, const char *url, size_t count) {
    return this && strncmp(this->text, url, count) == 0 && this->text[count] == 0;
}

void tpc_origin_release(const tpc_library *library, tpc_origin *this) {
    if (!this || --this->users > 0) return;
    library->url_cleanup(this->parts);
    free(this);
}

// Returns the loop's latest origin, which is parsed only after a change, or NULL if there is no memory.
static tpc_origin *latest_origin(tpc_loop *loop, const char *url, size_t count) {
    if (is_origin(loop->origin, url, count)) return loop->origin;
    tpc_origin *this = calloc(1, sizeof *this + count + 1);
    if (!this) return NULL;
    memcpy(this->text, url, count);
    this->parts = loop->library->url();
    if (this->parts && loop->library->url_set(this->parts, CURLUPART_URL, this->text, CURLU_PATH_AS_IS | CURLU_DISALLOW_USER) != 0) {
        loop->library->url_cleanup(this->parts);
        this->parts = NULL;
    }
    tpc_origin_release(loop->library, loop->origin);
    this->users = 1;
    return loop->origin = this;
}

static int set_url(transfer_t *this, const char *url, size_t count) {
    if (is_origin(this->origin, url, count)) return 0;
    tpc_origin *origin = latest_origin(this->loop, url, count);
    if (!origin) return CURLE_OUT_OF_MEMORY;
    origin->users++;
    library_of(this)->easy_setopt(this->easy, CURLOPT_CURLU, origin->parts);
    tpc_origin_release(library_of(this), this->origin);
    this->origin = origin;
    // If libcurl sends a request again, libcurl uses the text.
    return library_of(this)->easy_setopt(this->easy, CURLOPT_URL, origin->text);
}

static int use_proxy(transfer_t *this, int scheme) {
    const char *url = this->proxy.urls[scheme];
    this->proxy.current = scheme;
    return library_of(this)->easy_setopt(this->easy, CURLOPT_PROXY, url ? url : "");
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

// An HTTP proxy gets the absolute form, except for https, which uses a tunnel.
static int set_target(transfer_t *this, const tpc_request *request) {
    int scheme = request->traits & TPC_DIRECT ? NO_PROXY : request->traits & TPC_SECURE ? 1 : 0;
    int code = this->proxy.current == scheme ? 0 : use_proxy(this, scheme);
    const char *proxy = scheme == 0 ? this->proxy.urls[0] : NULL;
    bool is_proxied = proxy && strncmp(proxy, "http:", 5) == 0;
    bool is_undecided = is_proxied && this->proxy.exceptions && !(request->traits & TPC_PROXIED);
    if (code == 0) code = set_url(this, request->url, is_undecided ? strlen(request->url) : request->origin_count);
    if (code != 0) return code;
    if (!is_undecided)
        return library_of(this)->easy_setopt(this->easy, CURLOPT_REQUEST_TARGET, is_proxied ? request->url : request->target);
    this->request.url = strdup(request->url);
    this->request.target = strdup(request->target);
    if (!this->request.url || !this->request.target) return CURLE_OUT_OF_MEMORY;
    return library_of(this)->easy_setopt(this->easy, CURLOPT_REQUEST_TARGET, NULL);
}

// Before 8.7, libcurl does not report whether libcurl has chosen a proxy. In this case libcurl itself makes the target, which
// is right except for an empty query. libcurl cannot make the target `*`. The absolute form is used instead, which servers also
// accept (RFC 9112 §3.2.2).
static void choose_target(transfer_t *this) {
    long is_proxied = 1;
    bool is_known = library_of(this)->easy_getinfo(this->easy, CURLINFO_USED_PROXY, &is_proxied) == 0;
    if (!is_known && this->request.target[0] != '*') return;
    library_of(this)->easy_setopt(this->easy, CURLOPT_REQUEST_TARGET, is_proxied ? this->request.url : this->request.target);
}

// MARK: The route.
//
// A request may have its own settings for the endpoint of its connection and for the allowed addresses.
//
// libcurl shares a connection between requests only with equal scheme, host and port of the URL, equal host and port of
// CURLOPT_CONNECT_TO, and an equal path of the Unix socket.
//
// For the limit of connections to a host, libcurl before 8.20 uses another key, with the URL's port and the connection's host.
// One endpoint would use up the limit of another endpoint at the same address. The scope of IPv6 addresses
// (CURLOPT_ADDRESS_SCOPE) is also a part of that key. For IPv4 addresses and Unix sockets, the scope has no other meaning, and
// separates these endpoints. From 8.20 on, the key is the endpoint itself.
//
// libcurl 7.88 also stores by this key whether a server supports HTTP/2. If one endpoint supports HTTP/2, 7.88 treats a busy
// HTTP/1 connection to another endpoint as shared, and a request gets the response of another request. If libcurl's HTTP/2 has
// this fault, requests to an endpoint that is a host use HTTP/1.1, which shares no connection.

static int set_route(transfer_t *this, const tpc_request *request) {
    int (*set)(CURL *, int, ...) = library_of(this)->easy_setopt;
    this->changed |= CHANGED_ROUTE;
    int code = 0;
    if (request->connect_to) {
        code = tpc_list_create(&this->request.connect_to, request->connect_to, strlen(request->connect_to) + 1);
        if (code == 0) code = set(this->easy, CURLOPT_CONNECT_TO, this->request.connect_to);
    }
    if (code == 0 && (request->unix_socket || (request->connect_to && this->unix_socket)))
        code = set(this->easy, TPC_UNIX_SOCKET_PATH, request->unix_socket);
    // A libcurl without IPv6 has no CURLOPT_ADDRESS_SCOPE, and needs the scope only for the limit of connections.
    if (code == 0 && request->scope) set(this->easy, CURLOPT_ADDRESS_SCOPE, (long)request->scope);
    if (code == 0 && request->traits & TPC_PROXIED) code = set(this->easy, TPC_NO_PROXY, "");
    return code;
}

static void unset_route(transfer_t *this) {
    int (*set)(CURL *, int, ...) = library_of(this)->easy_setopt;
    set(this->easy, CURLOPT_CONNECT_TO, NULL);
    set(this->easy, TPC_UNIX_SOCKET_PATH, this->unix_socket);
    set(this->easy, CURLOPT_ADDRESS_SCOPE, 0L);
    set(this->easy, TPC_NO_PROXY, this->proxy.exceptions ? this->proxy.exceptions : "");
    free(this->request.connect_to);
    this->request.connect_to = NULL;
}

// MARK: Addresses.

static bool allows(transfer_t *this, const struct sockaddr *address) {
    if (!(this->request.traits & TPC_JUDGED)) return true;
    bool is_allowed = false;
    if (address->sa_family == AF_INET) {
        const struct in_addr *four = &((const struct sockaddr_in *)address)->sin_addr;
        is_allowed = this->judge(this->shown.owner, (const unsigned char *)four, sizeof *four);
    } else if (address->sa_family == AF_INET6) {
        const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;
        is_allowed = this->judge(this->shown.owner, (const unsigned char *)six, sizeof *six);
    }
    if (is_allowed) this->request.has_opened = true;
    else this->request.has_refused = true;
    return is_allowed;
}

// Returns false for an address that cannot be parsed.
static bool allows_peer(transfer_t *this, const char *peer) {
    unsigned char address[sizeof(struct in6_addr)];
    size_t count = 0;
    if (peer && inet_pton(AF_INET, peer, address) == 1) count = sizeof(struct in_addr);
    else if (peer && inet_pton(AF_INET6, peer, address) == 1) count = sizeof(struct in6_addr);
    if (count > 0 && this->judge(this->shown.owner, address, count)) return true;
    this->shown.cause = TPC_CAUSE_ADDRESS;
    return false;
}

// MARK: Sending.

// The cause of a missing response: HTTP/2 gave a reason, or the connection had already served another request. Over HTTP/2, the
// other request may have come after this request.
static tpc_cause cause_of_repeat(transfer_t *this) {
    if (this->http2.needs_http1) return TPC_CAUSE_NEEDS_HTTP1;
    if (tpc_http2_is_refused(this)) return TPC_CAUSE_REFUSED;
    return this->shown.is_reused || this->shown.is_http2 ? TPC_CAUSE_LOST : TPC_CAUSE_NONE;
}

// With any method, libcurl sends a request again if a reused connection returned no byte, or if the server requires HTTP/1.1.
// Only the client may send a request again, because the client counts the sends.
static void refuse_repeat(transfer_t *this) {
    // After a 417, libcurl would send the request again without Expect, and drop the content of the 417. For the client, the
    // 417 is an ordinary response.
    this->shown.cause = this->shown.phase != TPC_PHASE_HEAD ? TPC_CAUSE_SKIPPED : cause_of_repeat(this);
}

// If a server ends the handshake of HTTP/3, libcurl 8.14 begins another handshake at once, until the connect timeout (3,261
// handshakes in three seconds). A server that restarts needs only a few handshakes.
enum { HANDSHAKES_LIMIT = 16 };

static int open_socket(void *user, int purpose, struct curl_sockaddr *address) {
    transfer_t *this = user;
    if (this->shown.sends > 0) {
        refuse_repeat(this);
        // libcurl may still try the other addresses before the end of the transfer.
        tpc_transfer_mark(this);
        return -1;
    }
#if defined(SOCK_CLOEXEC)
    // libcurl 8.19 and later add this flag to the type, and the type would not equal SOCK_STREAM.
    address->socktype &= ~SOCK_CLOEXEC;
#endif
    if (address->socktype == SOCK_DGRAM && ++this->request.handshakes > HANDSHAKES_LIMIT) return -1;
    if (allows(this, &address->addr)) return tpc_connection_open(this->loop, &this->shown, address);
    this->loop->has_refusal = library_of(this)->waits_after_refusal;
    return -1;
}

static size_t on_read(char *bytes, size_t size, size_t number, void *user) {
    transfer_t *this = user;
    long count = this->content.read(this->shown.owner, bytes, size * number);
    tpc_transfer_step(this);
    if (count >= 0) return (size_t)count;
    if (count == TPC_READ_FAIL) return CURL_READFUNC_ABORT;
    this->shown.paused |= TPC_PAUSE_SENDING;
    this->paused |= TPC_PAUSE_SENDING;
    return CURL_READFUNC_PAUSE;
}

// libcurl calls this function to send content again.
static int on_seek(void *user, int64_t offset, int origin) {
    refuse_repeat(user);
    return CURL_SEEKFUNC_FAIL;
}

// libcurl calls this function once, after the last chunk.
static int on_trailers(struct curl_slist **list, void *user) {
    transfer_t *this = user;
    tpc_trailers trailers = {library_of(this), list};
    return this->content.trail(this->shown.owner, &trailers) ? CURL_TRAILERFUNC_OK : CURL_TRAILERFUNC_ABORT;
}

// libcurl calls this function before each send of the request. Only the first send is allowed.
static int on_request(void *user, char *peer, char *local, int peer_port, int local_port) {
    transfer_t *this = user;
    tpc_transfer_step(this);
    if (this->shown.sends > 0) {
        refuse_repeat(this);
        return CURL_PREREQFUNC_ABORT;
    }
    if (this->request.traits & TPC_JUDGED && !allows_peer(this, peer)) return CURL_PREREQFUNC_ABORT;
    long connects = 0;
    library_of(this)->easy_getinfo(this->easy, CURLINFO_NUM_CONNECTS, &connects);
    this->shown.is_reused = connects == 0;
    if (this->shown.is_reused && tpc_connection_is_spoiled(this->loop, local_port, peer, peer_port)) {
        this->shown.cause = TPC_CAUSE_REFUSED;
        return CURL_PREREQFUNC_ABORT;
    }
    this->shown.sends++;
    if (this->request.traits & TPC_SHARED) tpc_transfer_mark(this);
    if (this->request.target) choose_target(this);
    this->connection.session = this->request.traits & TPC_SECURE ? tpc_tls_of(library_of(this), this->easy) : NULL;
    this->connection.port = local_port > 0 ? local_port : 0;
    this->connection.has_close_notify = false;
    tpc_note_version(this);
    const tpc_pool_watcher *told = &this->loop->watcher;
    bool is_known = !(this->request.traits & TPC_SECURE) || tpc_tells_version(library_of(this));
    int version = this->shown.is_http3 ? 3 : this->shown.is_http2 ? 2 : is_known;
    if (told->watcher) told->sending(told->watcher, this->shown.owner, this->connection.port, peer, peer_port, version);
    return CURL_PREREQFUNC_OK;
}

static int on_resolve(void *resolver, void *reserved, void *user) {
    ((transfer_t *)user)->has_resolved = true;
    return 0;
}

void tpc_set_request_callbacks(transfer_t *this) {
    CURL *easy = this->easy;
    int (*set)(CURL *, int, ...) = library_of(this)->easy_setopt;
    set(easy, CURLOPT_READFUNCTION, on_read);
    set(easy, CURLOPT_READDATA, this);
    set(easy, CURLOPT_SEEKFUNCTION, on_seek);
    set(easy, CURLOPT_SEEKDATA, this);
    set(easy, CURLOPT_PREREQFUNCTION, on_request);
    set(easy, CURLOPT_PREREQDATA, this);
    set(easy, CURLOPT_DEBUGFUNCTION, tpc_http2_on_text);
    set(easy, CURLOPT_DEBUGDATA, this);
    set(easy, CURLOPT_RESOLVER_START_FUNCTION, on_resolve);
    set(easy, CURLOPT_RESOLVER_START_DATA, this);
    // The open callback gets the transfer, and the close callback gets the loop, because a connection may outlive a transfer.
    set(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    set(easy, CURLOPT_OPENSOCKETDATA, this);
    set(easy, CURLOPT_CLOSESOCKETFUNCTION, tpc_connection_close);
    set(easy, CURLOPT_CLOSESOCKETDATA, this->loop);
}

static int set_method(transfer_t *this, const tpc_request *request) {
    int (*set)(CURL *, int, ...) = library_of(this)->easy_setopt;
    if (!request->method && request->exchange == TPC_EXCHANGE_PLAIN) return 0;
    this->changed |= CHANGED_METHOD;
    if (request->exchange == TPC_EXCHANGE_UPLOAD) {
        set(this->easy, CURLOPT_UPLOAD, 1L);
        set(this->easy, CURLOPT_INFILESIZE_LARGE, request->content_length);
    } else if (request->exchange == TPC_EXCHANGE_HEAD) {
        set(this->easy, CURLOPT_NOBODY, 1L);
    }
    return request->method ? set(this->easy, CURLOPT_CUSTOMREQUEST, request->method) : 0;
}

static void unset_method(transfer_t *this) {
    int (*set)(CURL *, int, ...) = library_of(this)->easy_setopt;
    set(this->easy, CURLOPT_CUSTOMREQUEST, NULL);
    set(this->easy, CURLOPT_NOBODY, 0L);
    set(this->easy, CURLOPT_UPLOAD, 0L);
    set(this->easy, CURLOPT_INFILESIZE_LARGE, (int64_t)-1);
    set(this->easy, CURLOPT_HTTPGET, 1L);
}

int tpc_set_request(transfer_t *this, const tpc_request *request) {
    this->request.traits = request->traits;
    int code = tpc_list_create(&this->request.fields, request->fields, request->fields_count);
    if (code == 0) code = set_target(this, request);
    if (code == 0 && request->traits & TPC_ROUTED) code = set_route(this, request);
    if (code == 0) code = library_of(this)->easy_setopt(this->easy, CURLOPT_HTTPHEADER, this->request.fields);
    if (code == 0) code = set_method(this, request);
    if (code != 0) return code;
    if (request->traits & TPC_TRAILERS) {
        this->changed |= CHANGED_TRAILERS;
        library_of(this)->easy_setopt(this->easy, CURLOPT_TRAILERFUNCTION, on_trailers);
        library_of(this)->easy_setopt(this->easy, CURLOPT_TRAILERDATA, this);
    }
    if (request->version) {
        this->changed |= CHANGED_VERSION;
        library_of(this)->easy_setopt(this->easy, TPC_HTTP_VERSION, (long)request->version);
    }
    if (request->traits & TPC_FRESH) {
        this->changed |= CHANGED_FRESH;
        library_of(this)->easy_setopt(this->easy, CURLOPT_FRESH_CONNECT, 1L);
    }
    return 0;
}

void tpc_unset_request(transfer_t *this) {
    if (this->changed & CHANGED_METHOD) unset_method(this);
    if (this->changed & CHANGED_TRAILERS) library_of(this)->easy_setopt(this->easy, CURLOPT_TRAILERFUNCTION, NULL);
    if (this->changed & CHANGED_VERSION) library_of(this)->easy_setopt(this->easy, TPC_HTTP_VERSION, this->version);
    if (this->changed & CHANGED_VERBOSE) library_of(this)->easy_setopt(this->easy, CURLOPT_VERBOSE, 0L);
    if (this->changed & CHANGED_ROUTE) unset_route(this);
    if (this->changed & CHANGED_FRESH) library_of(this)->easy_setopt(this->easy, CURLOPT_FRESH_CONNECT, 0L);
    this->changed = 0;
    library_of(this)->easy_setopt(this->easy, CURLOPT_HTTPHEADER, NULL);
    free(this->request.fields);
    free(this->request.url);
    free(this->request.target);
    memset(&this->request, 0, sizeof this->request);
}
