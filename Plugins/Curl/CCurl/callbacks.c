// SPDX-License-Identifier: Apache-2.0

#include "pool.h"
#include "transfer.h"
#include <string.h>
#include <strings.h>

// What libcurl calls for one transfer. The callbacks collect what comes and mark the transfer; they decide nothing.

enum {
    // libcurl's own limit for fields is 300 KiB, with lines of at most 100 KiB.
    HEAD_LIMIT = 524288,
    // libcurl takes trailer lines of at most 4 KiB, but any number of them.
    TRAILERS_LIMIT = 65536,
    // The content that is collected in one turn, for which a block has room. Then libcurl must wait, and other transfers get
    // their turn.
    BODY_LIMIT = 262144,
    // The most content that libcurl passes at once.
    PIECE = 16384,
};

// MARK: The response.

static bool reserve(tpc_buffer *buffer, size_t wanted, size_t capacity) {
    if (wanted <= buffer->capacity) return true;
    char *larger = tpc_malloc(capacity);
    if (!larger) return false;
    if (buffer->count > 0) memcpy(larger, buffer->bytes, buffer->count);
    tpc_free(buffer->bytes);
    buffer->bytes = larger;
    buffer->capacity = capacity;
    return true;
}

static void append(tpc_buffer *buffer, const char *bytes, size_t count) {
    memcpy(buffer->bytes + buffer->count, bytes, count);
    buffer->count += count;
}

void tpc_buffer_free(tpc_buffer *buffer) {
    tpc_free(buffer->bytes);
    *buffer = (tpc_buffer){0};
}

void *tpc_buffer_take(tpc_buffer *buffer, size_t *count) {
    *count = buffer->count;
    if (buffer->count == 0) return NULL;
    char *bytes = buffer->bytes;
    // A reader may keep it for long.
    if (buffer->capacity > PIECE && buffer->count < buffer->capacity / 2) {
        char *smaller = tpc_realloc(bytes, buffer->count);
        if (smaller) bytes = smaller;
    }
    *buffer = (tpc_buffer){0};
    return bytes;
}

static int status_of(const tpc_buffer *head) {
    const char *at = memchr(head->bytes, ' ', head->count), *end = head->bytes + head->count;
    int status = 0;
    while (at && ++at < end && *at >= '0' && *at <= '9' && status <= 9999) status = status * 10 + *at - '0';
    return status;
}

// A trailer line (RFC 9110 §6.5) may come long after the head was taken.
static size_t on_trailer(transfer_t *this, const char *line, size_t count) {
    tpc_buffer *trailers = &this->shown.trailers;
    size_t wanted = trailers->count + count;
    this->shown.phase = TPC_PHASE_TRAILERS;
    if (wanted > TRAILERS_LIMIT) {
        this->shown.cause = TPC_CAUSE_TOO_LARGE;
        return 0;
    }
    if (!reserve(trailers, wanted, 2 * wanted)) return 0;
    append(trailers, line, count);
    return count;
}

static bool ends_head(const char *line, size_t count) {
    return (count == 2 && line[0] == '\r' && line[1] == '\n') || (count == 1 && line[0] == '\n');
}

static size_t on_header(char *line, size_t size, size_t number, void *user) {
    transfer_t *this = user;
    tpc_buffer *head = &this->shown.head;
    size_t count = size * number;
    tpc_loop_step(this->loop);
    if (this->shown.phase != TPC_PHASE_HEAD) return on_trailer(this, line, count);
    // A head follows an interim one, or that of a proxy.
    if (count > 5 && (line[0] | 0x20) == 'h' && strncasecmp(line, "HTTP/", 5) == 0) head->count = 0;
    size_t wanted = head->count + count;
    if (wanted > HEAD_LIMIT) {
        this->shown.cause = TPC_CAUSE_TOO_LARGE;
        return 0;
    }
    size_t capacity = wanted < 1024 ? 1024 : wanted < 2 * head->capacity ? 2 * head->capacity : wanted;
    if (!reserve(head, wanted, capacity)) return 0;
    append(head, line, count);
    if (!ends_head(line, count)) return count;
    int status = status_of(head);
    if (status >= 100 && status < 200 && status != 101) {
        head->count = 0;
        return count;
    }
    this->shown.status = status;
    this->shown.phase = TPC_PHASE_BODY;
    tpc_transfer_mark(this);
    return count;
}

// Returns the size of the first buffer: small content of known length needs no more than its length.
static size_t room_for_body(transfer_t *this, size_t piece) {
    int64_t left = tpc_transfer_length(&this->shown) - this->shown.received;
    if (left == (int64_t)piece || piece < PIECE) return piece;
    return left > (int64_t)piece && left < BODY_LIMIT ? (size_t)left : tpc_block_size();
}

static size_t on_body(char *bytes, size_t size, size_t number, void *user) {
    transfer_t *this = user;
    tpc_buffer *body = &this->shown.body;
    size_t count = size * number, wanted = body->count + count;
    tpc_loop_step(this->loop);
    if (this->activity == ACTIVITY_LEAVING) return count;
    bool is_paused = this->shown.paused & TPC_PAUSE_RECEIVING;
    if (is_paused || (body->count > 0 && wanted > BODY_LIMIT)) {
        this->shown.paused |= TPC_PAUSE_RECEIVING;
        this->paused |= TPC_PAUSE_RECEIVING;
        tpc_hold(this, true);
        if (!is_paused) tpc_transfer_mark(this);
        return CURL_WRITEFUNC_PAUSE;
    }
    size_t capacity = body->capacity == 0 ? room_for_body(this, count) : tpc_block_size();
    if (!reserve(body, wanted, capacity < wanted ? wanted : capacity)) return 0;
    append(body, bytes, count);
    this->shown.received += (int64_t)count;
    tpc_transfer_mark(this);
    return count;
}

// A connection of HTTP/2 is read for all its streams, and libcurl itself holds back one of them.
void tpc_hold(transfer_t *this, bool is_held) {
    if (!tpc_polls_paused || this->socket.descriptor < 0 || this->socket.is_held == is_held) return;
    if (is_held && tpc_http2_has_answered(this)) return;
    this->socket.is_held = is_held;
    tpc_loop_hold(this->loop, this->socket.descriptor, is_held);
}

// MARK: The request.

static size_t on_read(char *bytes, size_t size, size_t number, void *user) {
    transfer_t *this = user;
    long count = this->content.read(this->shown.owner, bytes, size * number);
    tpc_loop_step(this->loop);
    if (count >= 0) return (size_t)count;
    if (count == TPC_READ_FAIL) return CURL_READFUNC_ABORT;
    this->shown.paused |= TPC_PAUSE_SENDING;
    this->paused |= TPC_PAUSE_SENDING;
    return CURL_READFUNC_PAUSE;
}

// Runs where libcurl wants to send content again.
static int on_seek(void *user, int64_t offset, int origin) {
    tpc_transfer_refuse_repeat(user);
    return CURL_SEEKFUNC_FAIL;
}

// libcurl asks once, after the last chunk.
static int on_trailers(struct curl_slist **list, void *user) {
    transfer_t *this = user;
    return this->content.trail(this->shown.owner, list) ? CURL_TRAILERFUNC_OK : CURL_TRAILERFUNC_ABORT;
}

// libcurl frees the list, so its own function must add to it.
bool tpc_trailer_add(void *list, const char *line) {
    struct curl_slist **place = list;
    struct curl_slist *longer = tpc_curl.slist_append(*place, line);
    if (longer) *place = longer;
    return longer != NULL;
}

// Returns the TLS connection of a transfer, or NULL if it is unknown. Connections that exist at the same time have different
// addresses.
static const void *session_of(CURL *easy) {
    curl_tls_session_info *session = NULL;
    tpc_curl.easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session);
    return session ? session->internals : NULL;
}

// Runs each time before the request is sent. It is sent once.
static int on_request(void *user, char *peer, char *local, int peer_port, int local_port) {
    transfer_t *this = user;
    tpc_loop_step(this->loop);
    if (this->shown.sends > 0) {
        tpc_transfer_refuse_repeat(this);
        return CURL_PREREQFUNC_ABORT;
    }
    if (this->request.traits & TPC_JUDGED && !tpc_allows_peer(this, peer)) return CURL_PREREQFUNC_ABORT;
    this->shown.sends++;
    this->shown.is_reused = tpc_transfer_connects(&this->shown) == 0;
    if (this->request.traits & TPC_SHARED) tpc_transfer_mark(this);
    if (this->request.target) tpc_choose_target(this);
    this->connection.session = this->request.traits & TPC_SECURE ? session_of(this->easy) : NULL;
    this->connection.port = local_port > 0 ? local_port : 0;
    tpc_pool_sending(this->loop, &this->shown, this->connection.port, peer, peer_port);
    this->connection.has_close_notify = false;
    tpc_http2_begin(this);
    return CURL_PREREQFUNC_OK;
}

static int on_resolve(void *resolver, void *reserved, void *user) {
    ((transfer_t *)user)->has_resolved = true;
    return 0;
}

// MARK: Setting them.

void tpc_set_callbacks(transfer_t *this) {
    CURL *easy = this->easy;
    int (*set)(CURL *, int, ...) = tpc_curl.easy_setopt;
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
    set(easy, CURLOPT_DEBUGFUNCTION, tpc_http2_on_text);
    set(easy, CURLOPT_DEBUGDATA, this);
    set(easy, CURLOPT_RESOLVER_START_FUNCTION, on_resolve);
    set(easy, CURLOPT_RESOLVER_START_DATA, this);
}

void tpc_set_trailer_callback(transfer_t *this, bool is_set) {
    tpc_curl.easy_setopt(this->easy, CURLOPT_TRAILERFUNCTION, is_set ? on_trailers : NULL);
    if (is_set) tpc_curl.easy_setopt(this->easy, CURLOPT_TRAILERDATA, this);
}
