#define _GNU_SOURCE
#include "curl.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    RECEIVE_BUFFER = 131072,
    SEND_BUFFER = 262144,
    // libcurl itself takes 300 KiB of fields, and a line of 100 KiB.
    HEAD_LIMIT = 524288,
    // Of trailers it takes lines of 4 KiB, and as many as come.
    TRAILERS_LIMIT = 65536,
    // As much content as is gathered in one turn, which a block has room for; then libcurl has to wait, and others get
    // their turn.
    BODY_LIMIT = 262144,
    // As much as libcurl gives at once.
    PIECE = 16384,
};

// The part that Swift sees comes first.
typedef struct transfer {
    tpc_transfer shown;
    tpc_transfer *link;
    // Its neighbour among the loop's active transfers, and where the one before keeps it.
    struct transfer *next, **place;
    tpc_loop *loop;
    CURL *easy;
    tpc_read read;
    tpc_rewind rewind;
    tpc_trail trail;
    struct curl_slist *fields;
    struct curl_slist *lines[2];
    // The forms of the target, if libcurl decides later whether a proxy gets the request; otherwise NULL.
    char *url, *target;
    // The URLs of the proxies for http and https, NULL for none, and whether that for https is the one that is set.
    char *proxies[2];
    bool has_secure_proxy;
    // Whether some hosts are reached without a proxy.
    bool has_exceptions;
    char *head, *trailers;
    size_t head_capacity, trailers_capacity;
    bool is_in_body;
    bool has_no_content;
    bool is_active;
    // Given up: what comes is dropped.
    bool is_discarding;
    bool is_plain;
    bool has_trailers;
    // What was set, and whether the request takes another one.
    long version;
    bool has_own_version;
    bool is_secure;
    // The TLS connection that it was sent on, with its local port: another one may have the address of one that has ended.
    const void *tls;
    int port;
    // Whether the peer has announced the end of that.
    bool has_tls_end;
    bool is_repeatable;
    bool is_shared;
    // With HTTP/2, of the last send: the number of the stream, and that of the last stream of the connection that the server
    // will answer (GOAWAY, RFC 9113 §6.8). -1 while libcurl has not said.
    int64_t stream, last_stream;
    // Whether libcurl says that the server has refused the stream (REFUSED_STREAM, RFC 9113 §8.7).
    bool was_refused;
    // Whether its host's name was asked for, which needs a place among the connections.
    bool has_resolved;
    bool is_verbose;
    char *body;
    size_t body_capacity;
    // Of the content, all in all.
    int64_t received;
    // Where it comes from; -1 for unknown.
    int descriptor;
    bool is_held;
} transfer_t;

static transfer_t *whole(tpc_transfer *transfer) { return (transfer_t *)transfer; }

tpc_loop *tpc_transfer_loop(tpc_transfer *transfer) { return whole(transfer)->loop; }

tpc_transfer **tpc_transfer_link(tpc_transfer *transfer) { return &whole(transfer)->link; }

void tpc_transfer_mark(tpc_transfer *transfer) {
    transfer_t *this = whole(transfer);
    if (this->link == transfer) tpc_loop_mark(this->loop, transfer, &this->link);
}

void tpc_transfer_heed_tls_ends(tpc_transfer *transfer, const void *const *ends, size_t count, bool are_all) {
    transfer_t *this = whole(transfer);
    if (!this->tls) return;
    this->has_tls_end = !are_all;
    for (size_t index = 0; index < count; index++) this->has_tls_end |= ends[index] == this->tls;
}

static bool grow(char **bytes, size_t *capacity, size_t wanted) {
    if (wanted <= *capacity) return true;
    char *larger = tpc_realloc(*bytes, wanted);
    if (!larger) return false;
    *bytes = larger;
    *capacity = wanted;
    return true;
}

// MARK: Callbacks of libcurl.

void tpc_transfer_use(tpc_transfer *transfer, int descriptor) { whole(transfer)->descriptor = descriptor; }

// Whether its answer came by HTTP/2, as far as one has.
static bool is_answered_by_http2(transfer_t *this) {
    long version = 0;
    tpc_curl.easy_getinfo(this->easy, CURLINFO_HTTP_VERSION, &version);
    return version >= CURL_HTTP_VERSION_2;
}

// A connection of HTTP/2 is read for all its streams, and libcurl holds back the one.
static void hold(transfer_t *this, bool is_held) {
    if (!tpc_polls_paused || this->descriptor < 0 || this->is_held == is_held) return;
    if (is_held && is_answered_by_http2(this)) return;
    this->is_held = is_held;
    tpc_loop_hold(this->loop, this->descriptor, is_held);
}

static int status_of(const char *head, size_t count) {
    const char *space = memchr(head, ' ', count);
    int status = 0;
    for (size_t at = space ? (size_t)(space - head) + 1 : count; at < count; at++) {
        if (head[at] < '0' || head[at] > '9') break;
        if (status > 9999) break;
        status = status * 10 + (head[at] - '0');
    }
    return status;
}

// Trailer fields (RFC 9110 §6.5): a line may come long after the others, when the head was taken.
static size_t on_trailer(transfer_t *this, const char *line, size_t total) {
    size_t wanted = this->shown.trailers_count + total;
    if (wanted > TRAILERS_LIMIT) {
        this->shown.is_head_too_large = true;
        return 0;
    }
    if (wanted > this->trailers_capacity && !grow(&this->trailers, &this->trailers_capacity, 2 * wanted)) return 0;
    memcpy(this->trailers + this->shown.trailers_count, line, total);
    this->shown.trailers = this->trailers;
    this->shown.trailers_count = wanted;
    return total;
}

// A new address at each connection that lives beside others; NULL where it is not known.
static const void *tls_of(CURL *easy) {
    curl_tls_session_info *session = NULL;
    tpc_curl.easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session);
    return session ? session->internals : NULL;
}

static size_t on_header(char *line, size_t size, size_t count, void *user) {
    transfer_t *this = user;
    tpc_loop_step(this->loop);
    size_t total = size * count;
    if (this->is_in_body) return on_trailer(this, line, total);
    bool is_status = total > 5 && (line[0] | 0x20) == 'h' && strncasecmp(line, "HTTP/", 5) == 0;
    // There was no content.
    if (this->shown.has_head) return on_trailer(this, line, total);
    if (is_status) this->shown.head_count = 0;
    size_t wanted = this->shown.head_count + total;
    size_t capacity = wanted < 1024 ? 1024 : wanted < 2 * this->head_capacity ? 2 * this->head_capacity : wanted;
    if (wanted > HEAD_LIMIT) {
        this->shown.is_head_too_large = true;
        return 0;
    }
    if (wanted > this->head_capacity && !grow(&this->head, &this->head_capacity, capacity)) return 0;
    memcpy(this->head + this->shown.head_count, line, total);
    this->shown.head = this->head;
    this->shown.head_count = wanted;
    bool is_end = (total == 2 && line[0] == '\r' && line[1] == '\n') || (total == 1 && line[0] == '\n');
    if (!is_end) return total;
    int status = status_of(this->head, this->shown.head_count);
    if (status >= 100 && status < 200 && status != 101) {
        this->shown.head_count = 0;
        return total;
    }
    this->shown.has_head = true;
    this->has_no_content = status == 204 || status == 304;
    this->shown.is_unwilling = status >= 300;
    tpc_transfer_mark(&this->shown);
    return total;
}

// Room for all that is left of content whose length is known and small; libcurl gives pieces of 16 KiB at most.
static size_t room_for_body(transfer_t *this, size_t piece) {
    int64_t length = tpc_transfer_length(&this->shown);
    int64_t left = length - this->received;
    if (left == (int64_t)piece || piece < PIECE) return piece;
    return left > (int64_t)piece && left < BODY_LIMIT ? (size_t)left : tpc_block_size();
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user) {
    transfer_t *this = user;
    size_t total = size * count;
    tpc_loop_step(this->loop);
    if (this->is_discarding) return total;
    this->is_in_body = true;
    size_t wanted = this->shown.body_count + total;
    if (this->shown.body_count > 0 && wanted > BODY_LIMIT) {
        this->shown.is_receive_paused = true;
        hold(this, true);
        tpc_transfer_mark(&this->shown);
        return CURL_WRITEFUNC_PAUSE;
    }
    if (wanted > this->body_capacity) {
        size_t capacity = this->body_capacity == 0 ? room_for_body(this, total) : tpc_block_size();
        if (capacity < wanted) capacity = wanted;
        char *larger = tpc_malloc(capacity);
        if (!larger) return 0;
        if (this->shown.body_count > 0) memcpy(larger, this->body, this->shown.body_count);
        tpc_free(this->body);
        this->body = larger;
        this->body_capacity = capacity;
    }
    memcpy(this->body + this->shown.body_count, bytes, total);
    this->shown.body_count = wanted;
    this->received += (int64_t)total;
    tpc_transfer_mark(&this->shown);
    return total;
}

static size_t on_read(char *bytes, size_t size, size_t count, void *user) {
    transfer_t *this = user;
    long got = this->read(this->shown.owner, bytes, size * count);
    tpc_loop_step(this->loop);
    if (got >= 0) return (size_t)got;
    if (got == TPC_READ_FAIL) return CURL_READFUNC_ABORT;
    this->shown.is_send_paused = true;
    return CURL_READFUNC_PAUSE;
}

// After a 417 libcurl would send the request again without its Expect, and skip the answer's content: an answer is one.
static bool is_answered(transfer_t *this) {
    if (this->shown.has_head) this->shown.skips_content = true;
    return this->shown.has_head;
}

// What is not repeatable is not left to libcurl: whoever began the transfer begins it again where it `is_refused`.
static bool may_repeat(transfer_t *this) { return !is_answered(this) && this->is_repeatable; }

// MARK: What libcurl says of HTTP/2.
//
// Whether a server has left a request undone decides whether it may be sent again. libcurl says so in its verbose text alone,
// and of a GOAWAY only to the transfer that reads from the connection at that moment.

void tpc_transfer_finish(tpc_transfer *transfer, int result) {
    transfer_t *this = whole(transfer);
    bool is_left_out = this->last_stream >= 0 && this->stream > this->last_stream;
    // libcurl does not forget an earlier refusal when it sends again.
    bool is_refused = this->was_refused && transfer->sends == 1;
    transfer->is_done = true;
    transfer->result = result;
    // A name, too, is looked up with a socket.
    if (result && transfer->sends == 0) transfer->lacks_descriptors |= !tpc_has_descriptors();
    transfer->is_refused = result != 0 && transfer->is_http2 && !transfer->has_head && (is_left_out || is_refused);
    // With HTTP/2 the connection is that of others, too.
    if (result == 0 && this->descriptor >= 0 && !is_answered_by_http2(this))
        tpc_loop_set_idle(this->loop, this->descriptor, transfer);
}

bool tpc_transfers_use_port(tpc_loop *loop, int port) {
    for (transfer_t *each = *tpc_loop_active(loop); each; each = each->next)
        if (!each->shown.is_done && each->port == port) return true;
    return false;
}

// A server may say it as often as it likes: what is no news is not passed on.
static void tell_last_stream(transfer_t *reader, int64_t last_stream) {
    if (reader->last_stream >= 0 && last_stream >= reader->last_stream) return;
    for (transfer_t *each = *tpc_loop_active(reader->loop); each; each = each->next)
        if (each->shown.is_http2 && each->tls == reader->tls && each->port == reader->port) each->last_stream = last_stream;
}

static bool skip(const char **at, const char *end, const char *words) {
    size_t length = strlen(words);
    if ((size_t)(end - *at) < length || memcmp(*at, words, length) != 0) return false;
    *at += length;
    return true;
}

static int64_t skip_number(const char **at, const char *end) {
    int64_t number = 0;
    for (; *at < end && **at >= '0' && **at <= '9' && number < INT32_MAX; (*at)++) number = 10 * number + **at - '0';
    return number;
}

// The text quotes fields of the caller's too: it is told from those by how it begins.
static int on_debug(CURL *easy, int type, char *text, size_t count, void *user) {
    transfer_t *this = user;
    const char *at = text, *end = text + count;
    if (type != CURLINFO_TEXT || !this->shown.is_http2) return 0;
    if (skip(&at, end, "Using Stream ID: ")) {  // 7.88
        this->stream = skip_number(&at, end);
    } else if (skip(&at, end, "[HTTP/2] [")) {
        int64_t stream = skip_number(&at, end);
        if (skip(&at, end, "] OPENED stream")) this->stream = stream;
    } else if (skip(&at, end, "recveived GOAWAY, error=") || skip(&at, end, "received GOAWAY, error=")) {
        skip_number(&at, end);
        if (skip(&at, end, ", last_stream=")) tell_last_stream(this, skip_number(&at, end));
    } else if (skip(&at, end, "REFUSED_STREAM, retrying")) {
        this->was_refused = true;
    }
    return 0;
}

static int on_seek(void *user, int64_t offset, int origin) {
    transfer_t *this = user;
    if (offset != 0 || origin != 0 || !may_repeat(this)) return CURL_SEEKFUNC_FAIL;
    return this->rewind(this->shown.owner) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

// Once, behind the last chunk: libcurl forgets it then, and sends nothing a second time that is not rewound.
static int on_trailers(struct curl_slist **list, void *user) {
    transfer_t *this = user;
    return this->trail(this->shown.owner, list) ? CURL_TRAILERFUNC_OK : CURL_TRAILERFUNC_ABORT;
}

// With libcurl's own function, for it frees the list.
bool tpc_trailer_add(void *list, const char *line) {
    struct curl_slist **place = list;
    struct curl_slist *longer = tpc_curl.slist_append(*place, line);
    if (longer) *place = longer;
    return longer != NULL;
}

// Sets the target once libcurl has decided whether a proxy gets the request. libcurl before 8.7 does not tell, and its own forms
// are right but for an empty query. The absolute form of `*` is right for both: a server understands it (RFC 9112 §3.2.2).
static void choose_target(transfer_t *this) {
    long is_proxied = 1;
    bool is_known = tpc_curl.easy_getinfo(this->easy, CURLINFO_USED_PROXY, &is_proxied) == 0;
    if (!is_known && this->target[0] != '*') return;
    tpc_curl.easy_setopt(this->easy, CURLOPT_REQUEST_TARGET, is_proxied ? this->url : this->target);
}

// Runs before each time that the request is sent: libcurl sends again, whatever the method, when a connection that was
// kept alive ends without a byte of an answer.
static int on_request(void *user, char *peer, char *local, int peer_port, int local_port) {
    transfer_t *this = user;
    tpc_loop_step(this->loop);
    if (this->shown.sends > 0 && !may_repeat(this)) return CURL_PREREQFUNC_ABORT;
    this->shown.sends += 1;
    if (this->is_shared) tpc_transfer_mark(&this->shown);
    if (this->target) choose_target(this);
    this->tls = this->is_secure ? tls_of(this->easy) : NULL;
    this->port = local_port;
    this->shown.is_http2 = tpc_tls_is_http2(this->tls);
    this->stream = this->last_stream = -1;
    this->was_refused = this->has_tls_end = false;
    // Every transfer of a connection is listened to, for any of them may be the one that hears of its end.
    bool is_verbose = this->shown.is_http2;
    if (this->is_verbose != is_verbose) tpc_curl.easy_setopt(this->easy, CURLOPT_VERBOSE, (long)is_verbose);
    this->is_verbose = is_verbose;
    return CURL_PREREQFUNC_OK;
}

static int on_resolve(void *resolver, void *reserved, void *user) {
    (void)resolver, (void)reserved;
    ((transfer_t *)user)->has_resolved = true;
    return 0;
}

// MARK: Life.

tpc_transfer *tpc_transfer_create(tpc_loop *loop, tpc_read read, tpc_rewind rewind, tpc_trail trail) {
    transfer_t *this = calloc(1, sizeof *this);
    CURL *easy = this ? tpc_curl.easy_init() : NULL;
    if (!easy) {
        free(this);
        return NULL;
    }
    *this = (transfer_t){.link = &this->shown, .loop = loop, .easy = easy, .read = read, .rewind = rewind, .trail = trail,
                         .is_plain = true, .descriptor = -1};
    int (*set)(CURL *, int, ...) = tpc_curl.easy_setopt;
    set(easy, CURLOPT_PRIVATE, this);
    set(easy, CURLOPT_ERRORBUFFER, this->shown.error);
    set(easy, CURLOPT_HEADERFUNCTION, on_header);
    set(easy, CURLOPT_HEADERDATA, this);
    set(easy, CURLOPT_WRITEFUNCTION, on_body);
    set(easy, CURLOPT_WRITEDATA, this);
    set(easy, CURLOPT_READFUNCTION, on_read);
    set(easy, CURLOPT_READDATA, this);
    set(easy, CURLOPT_SEEKFUNCTION, on_seek);
    set(easy, CURLOPT_SEEKDATA, this);
    set(easy, CURLOPT_PREREQFUNCTION, on_request);
    set(easy, CURLOPT_PREREQDATA, this);
    set(easy, CURLOPT_DEBUGFUNCTION, on_debug);
    set(easy, CURLOPT_DEBUGDATA, this);
    set(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    set(easy, CURLOPT_NOSIGNAL, 1L);
    set(easy, CURLOPT_BUFFERSIZE, (long)RECEIVE_BUFFER);
    set(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)SEND_BUFFER);
    set(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    // The target goes out as it was checked.
    set(easy, CURLOPT_PATH_AS_IS, 1L);
    set(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    // The environment is not asked.
    set(easy, CURLOPT_PROXY, "");
    set(easy, TPC_NO_PROXY, "");
    set(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    if (tpc_tell_tls_ends) set(easy, CURLOPT_SSL_CTX_FUNCTION, tpc_tell_tls_ends);
    // A name that is being resolved does not hold up the loop when its transfer is given up.
    set(easy, CURLOPT_QUICK_EXIT, 1L);
    set(easy, CURLOPT_RESOLVER_START_FUNCTION, on_resolve);
    set(easy, CURLOPT_RESOLVER_START_DATA, this);
    tpc_loop_set_sockets(loop, easy, &this->shown);
    return &this->shown;
}

void tpc_transfer_free(tpc_transfer *transfer) {
    transfer_t *this = whole(transfer);
    if (this->is_active) tpc_transfer_end(transfer);
    tpc_curl.easy_cleanup(this->easy);
    free(this->fields);
    free(this->lines[0]);
    free(this->lines[1]);
    free(this->proxies[0]);
    free(this->proxies[1]);
    tpc_free(this->head);
    tpc_free(this->trailers);
    tpc_free(this->body);
    free(this);
}

int tpc_set_number(tpc_transfer *transfer, int option, long value) {
    if (option == TPC_HTTP_VERSION) whole(transfer)->version = value;
    return tpc_curl.easy_setopt(whole(transfer)->easy, option, value);
}

int tpc_set_text(tpc_transfer *transfer, int option, const char *text) {
    if (option == TPC_NO_PROXY) whole(transfer)->has_exceptions = text && *text;
    return tpc_curl.easy_setopt(whole(transfer)->easy, option, text);
}

static void use_proxy(transfer_t *this, bool is_secure) {
    const char *proxy = this->proxies[is_secure];
    tpc_curl.easy_setopt(this->easy, CURLOPT_PROXY, proxy ? proxy : "");
    this->has_secure_proxy = is_secure;
}

void tpc_set_proxies(tpc_transfer *transfer, const char *http, const char *https) {
    transfer_t *this = whole(transfer);
    const char *proxies[] = {http, https};
    for (int index = 0; index < 2; index++) {
        free(this->proxies[index]);
        this->proxies[index] = proxies[index] ? strdup(proxies[index]) : NULL;
    }
    use_proxy(this, false);
}

int tpc_set_bytes(tpc_transfer *transfer, int option, const void *bytes, size_t count, bool copies) {
    struct curl_blob blob = {(void *)bytes, count, copies ? CURL_BLOB_COPY : CURL_BLOB_NOCOPY};
    return tpc_curl.easy_setopt(whole(transfer)->easy, option, &blob);
}

int tpc_set_lines(tpc_transfer *transfer, int option, const char *lines, size_t count) {
    transfer_t *this = whole(transfer);
    struct curl_slist **place = this->lines[0] ? &this->lines[1] : &this->lines[0];
    if (*place) return 27;
    *place = tpc_list(lines, count);
    return tpc_curl.easy_setopt(this->easy, option, *place);
}

// One block: the nodes, then the texts that they point to.
struct curl_slist *tpc_list(const char *lines, size_t count) {
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

static int set_target(transfer_t *this, const tpc_request *request) {
    int code = tpc_curl.easy_setopt(this->easy, CURLOPT_URL, request->url);
    if (code != 0) return code;
    const char *proxy = request->is_secure ? NULL : this->proxies[0];
    bool is_proxied = proxy && strncmp(proxy, "http:", 5) == 0;
    if (!is_proxied || !this->has_exceptions)
        return tpc_curl.easy_setopt(this->easy, CURLOPT_REQUEST_TARGET, is_proxied ? request->url : request->target);
    this->url = strdup(request->url);
    this->target = strdup(request->target);
    if (!this->url || !this->target) return 27;
    return tpc_curl.easy_setopt(this->easy, CURLOPT_REQUEST_TARGET, NULL);
}

static void add_to_active(transfer_t *this) {
    transfer_t **first = tpc_loop_active(this->loop);
    this->next = *first;
    this->place = first;
    if (this->next) this->next->place = &this->next;
    *first = this;
    this->is_active = true;
}

int tpc_transfer_begin(tpc_transfer *transfer, const tpc_request *request) {
    transfer_t *this = whole(transfer);
    CURL *easy = this->easy;
    int (*set)(CURL *, int, ...) = tpc_curl.easy_setopt;
    this->is_repeatable = request->is_repeatable;
    this->is_secure = request->is_secure;
    this->is_shared = request->is_shared;
    this->fields = tpc_list(request->fields, request->fields_count);
    if (this->has_secure_proxy != request->is_secure) use_proxy(this, request->is_secure);
    int code = set_target(this, request);
    if (code == 0) code = set(easy, CURLOPT_HTTPHEADER, this->fields);
    this->is_plain = !request->method && !request->is_head && !request->has_content;
    if (code == 0 && !this->is_plain) {
        if (request->has_content) {
            set(easy, CURLOPT_UPLOAD, 1L);
            set(easy, CURLOPT_INFILESIZE_LARGE, request->content_length);
        } else if (request->is_head) {
            set(easy, CURLOPT_NOBODY, 1L);
        }
        if (request->has_trailers) {
            this->has_trailers = true;
            set(easy, CURLOPT_TRAILERFUNCTION, on_trailers);
            set(easy, CURLOPT_TRAILERDATA, this);
        }
        if (request->method) code = set(easy, CURLOPT_CUSTOMREQUEST, request->method);
    }
    if (request->version) set(easy, TPC_HTTP_VERSION, (long)request->version);
    this->has_own_version = request->version != 0;
    if (code != 0) return code;
    add_to_active(this);
    int added = tpc_curl.multi_add_handle(tpc_loop_multi(this->loop), easy);
    // What is left of the codes is a lack of memory.
    return added == 0 ? 0 : 27;
}

static void leave_loop(transfer_t *this) {
    // 7.88 forgets what a paused stream of HTTP/2 holds back, and leaves it in memory.
    if (this->shown.is_receive_paused && !this->shown.is_done && is_answered_by_http2(this)) {
        this->is_discarding = true;
        tpc_curl.easy_pause(this->easy, 0);
    }
    tpc_curl.multi_remove_handle(tpc_loop_multi(this->loop), this->easy);
    *this->place = this->next;
    if (this->next) this->next->place = this->place;
    this->is_active = this->is_discarding = false;
}

void tpc_transfer_end(tpc_transfer *transfer) {
    transfer_t *this = whole(transfer);
    CURL *easy = this->easy;
    if (this->is_active) leave_loop(this);
    if (this->link != transfer) tpc_loop_forget(this->loop, transfer);
    if (!this->is_plain) {
        tpc_curl.easy_setopt(easy, CURLOPT_CUSTOMREQUEST, NULL);
        tpc_curl.easy_setopt(easy, CURLOPT_NOBODY, 0L);
        tpc_curl.easy_setopt(easy, CURLOPT_UPLOAD, 0L);
        tpc_curl.easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (int64_t)-1);
        tpc_curl.easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    }
    if (this->has_trailers) {
        tpc_curl.easy_setopt(easy, CURLOPT_TRAILERFUNCTION, NULL);
        this->has_trailers = false;
    }
    if (this->has_own_version) tpc_curl.easy_setopt(easy, TPC_HTTP_VERSION, this->version);
    this->has_own_version = false;
    if (this->is_verbose) tpc_curl.easy_setopt(easy, CURLOPT_VERBOSE, 0L);
    tpc_curl.easy_setopt(easy, CURLOPT_HTTPHEADER, NULL);
    free(this->url);
    free(this->target);
    this->url = this->target = NULL;
    hold(this, false);
    this->descriptor = -1;
    free(this->fields);
    this->fields = NULL;
    tpc_free(this->body);
    this->body = NULL;
    this->body_capacity = 0;
    this->received = 0;
    tpc_free(this->trailers);
    this->trailers = NULL;
    this->trailers_capacity = 0;
    // A large head is a rare one.
    if (this->head_capacity > 16384) {
        tpc_free(this->head);
        this->head = NULL;
        this->head_capacity = 0;
    }
    this->is_in_body = this->has_no_content = this->has_tls_end = false;
    this->tls = NULL;
    this->port = 0;
    this->is_plain = true;
    this->is_verbose = this->was_refused = this->has_resolved = false;
    this->shown = (tpc_transfer){.trust = this->shown.trust};
}

int64_t tpc_transfer_length(tpc_transfer *transfer) {
    int64_t length = -1;
    tpc_curl.easy_getinfo(whole(transfer)->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    return length;
}

bool tpc_transfer_is_whole(tpc_transfer *transfer) {
    transfer_t *this = whole(transfer);
    if (!this->shown.has_head || this->shown.is_head_too_large) return false;
    if (this->has_no_content) return true;
    int64_t length = tpc_transfer_length(transfer);
    return length >= 0 && this->received >= length;
}

bool tpc_transfer_is_unwanted(tpc_transfer *transfer) {
    transfer_t *this = whole(transfer);
    return transfer->is_unwilling && this->shown.is_http2 && tpc_transfer_is_whole(transfer);
}

bool tpc_transfer_was_cut(tpc_transfer *transfer) {
    transfer_t *this = whole(transfer);
    return tpc_tell_tls_ends && this->tls && !this->has_tls_end;
}

void *tpc_transfer_take_head(tpc_transfer *transfer, size_t *count) {
    transfer_t *this = whole(transfer);
    void *head = this->head;
    *count = this->shown.head_count;
    this->head = NULL;
    this->head_capacity = 0;
    this->shown.head = NULL;
    this->shown.head_count = 0;
    return head;
}

void *tpc_transfer_take_body(tpc_transfer *transfer, size_t *count) {
    transfer_t *this = whole(transfer);
    char *body = this->body;
    *count = this->shown.body_count;
    if (*count == 0) return NULL;
    if (*count < this->body_capacity / 2) {
        char *smaller = tpc_realloc(body, *count);
        if (smaller) body = smaller;
    }
    this->body = NULL;
    this->body_capacity = 0;
    this->shown.body_count = 0;
    return body;
}

void tpc_transfer_pause(tpc_transfer *transfer, bool receive, bool send) {
    transfer_t *this = whole(transfer);
    if (!this->is_active || this->shown.is_done) return;
    this->shown.is_receive_paused = receive;
    this->shown.is_send_paused = send;
    hold(this, receive);
    tpc_curl.easy_pause(this->easy, (receive ? CURLPAUSE_RECV : 0) | (send ? CURLPAUSE_SEND : 0));
}

// What changes a pause makes libcurl look soon.
void tpc_transfer_nudge(tpc_transfer *transfer) {
    CURL *easy = whole(transfer)->easy;
    tpc_curl.easy_pause(easy, CURLPAUSE_SEND);
    tpc_curl.easy_pause(easy, 0);
}

void tpc_transfer_times(tpc_transfer *transfer, tpc_times *times) {
    CURL *easy = whole(transfer)->easy;
    *times = (tpc_times){.is_reused = tpc_transfer_connects(transfer) == 0};
    if (!times->is_reused) {
        tpc_curl.easy_getinfo(easy, CURLINFO_NAMELOOKUP_TIME_T, &times->lookup);
        tpc_curl.easy_getinfo(easy, CURLINFO_CONNECT_TIME_T, &times->connect);
        tpc_curl.easy_getinfo(easy, CURLINFO_APPCONNECT_TIME_T, &times->handshake);
    }
    // Some versions have such times of what was never sent.
    if (whole(transfer)->shown.sends > 0) {
        tpc_curl.easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &times->ready);
        tpc_curl.easy_getinfo(easy, CURLINFO_STARTTRANSFER_TIME_T, &times->first_byte);
    }
    tpc_curl.easy_getinfo(easy, CURLINFO_PRIMARY_IP, &times->peer);
}

static long info(tpc_transfer *transfer, int what) {
    long value = 0;
    tpc_curl.easy_getinfo(whole(transfer)->easy, what, &value);
    return value;
}

bool tpc_transfer_had_place(tpc_transfer *transfer) {
    return whole(transfer)->has_resolved || tpc_transfer_connects(transfer) > 0;
}

long tpc_transfer_connects(tpc_transfer *transfer) { return info(transfer, CURLINFO_NUM_CONNECTS); }
long tpc_transfer_connect_status(tpc_transfer *transfer) { return info(transfer, CURLINFO_HTTP_CONNECTCODE); }
long tpc_transfer_proxy_error(tpc_transfer *transfer) { return info(transfer, CURLINFO_PROXY_ERROR); }
