// SPDX-License-Identifier: Apache-2.0

// A transfer is created once, and begins and ends for each request. A transfer only collects the bytes of the response. Uses
// request.c, connections.c and library.c.

#include "engine.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    KEPT_HEAD = 16384,
    // libcurl's own limit for fields is 300 KiB, with lines of at most 100 KiB.
    HEAD_LIMIT = 524288,
    // libcurl takes any number of trailer lines of at most 4 KiB.
    TRAILERS_LIMIT = 65536,
    // The maximum number of content bytes of one iteration, which fit in a block. libcurl must then wait, and other transfers
    // are served.
    BODY_LIMIT = 262144,
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

static void free_buffer(tpc_buffer *buffer) {
    tpc_free(buffer->bytes);
    *buffer = (tpc_buffer){0};
}

void *tpc_buffer_take(tpc_buffer *buffer, size_t *count) {
    *count = buffer->count;
    if (buffer->count == 0) return NULL;
    char *bytes = buffer->bytes;
    // The memory must be small, because a reader may keep the memory for long.
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

// A trailer line (RFC 9110 §6.5) may arrive long after the head was taken.
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
    tpc_transfer_step(this);
    if (this->shown.phase != TPC_PHASE_HEAD) return on_trailer(this, line, count);
    // This head follows an interim head, or the head of a proxy.
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

// Stops or resumes polling the socket of a paused transfer, if this libcurl would continue to read from that socket. libcurl
// reads an HTTP/2 connection for all streams, and itself stops a single stream.
static void hold(transfer_t *this, bool is_held) {
    if (!library_of(this)->polls_paused || this->socket.descriptor < 0 || this->socket.is_held == is_held) return;
    if (is_held && tpc_http2_has_answered(this)) return;
    this->socket.is_held = is_held;
    tpc_connection_hold(this->loop, this->socket.descriptor, is_held);
}

// Returns the size of the first buffer, which equals the length for small content of known length.
static size_t room_for_body(transfer_t *this, size_t piece) {
    int64_t left = tpc_transfer_length(&this->shown) - this->shown.received;
    if (left == (int64_t)piece || piece < PIECE) return piece;
    return left > (int64_t)piece && left < BODY_LIMIT ? (size_t)left : tpc_block_size();
}

static size_t on_body(char *bytes, size_t size, size_t number, void *user) {
    transfer_t *this = user;
    tpc_buffer *body = &this->shown.body;
    size_t count = size * number, wanted = body->count + count;
    tpc_transfer_step(this);
    if (this->activity == ACTIVITY_LEAVING) return count;
    bool is_paused = this->shown.paused & TPC_PAUSE_RECEIVING;
    if (is_paused || (body->count > 0 && wanted > BODY_LIMIT)) {
        this->shown.paused |= TPC_PAUSE_RECEIVING;
        this->paused |= TPC_PAUSE_RECEIVING;
        hold(this, true);
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

// MARK: The end of TLS.

_Thread_local tpc_loop *tpc_current_loop;

enum { SSL_CB_READ_ALERT = 0x4004, CLOSE_NOTIFY = 0 };

// If content has no other end, libcurl accepts the end of the connection as the end of the content. An attacker on the path can
// end a connection. Only a close_notify shows that the server has ended the content (RFC 9112 §9.8).
static void on_info(const void *session, int where, int value) {
    tpc_loop *loop = tpc_current_loop;
    if (where != SSL_CB_READ_ALERT || (value & 0xFF) != CLOSE_NOTIFY) return;
    if (loop && loop->close_notify_count < TPC_CLOSE_NOTIFIES) loop->close_notifies[loop->close_notify_count++] = session;
}

static int report_close_notify(CURL *easy, void *context, void *user) {
    library_of(user)->set_info_callback(context, on_info);
    return 0;
}

// MARK: The handle.

tpc_transfer *tpc_transfer_create(tpc_loop *loop, tpc_read read, tpc_trail trail, tpc_judge judge) {
    transfer_t *this = calloc(1, sizeof *this);
    CURL *easy = this ? tpc_easy_create(loop->library) : NULL;
    if (!easy) {
        free(this);
        return NULL;
    }
    *this = (transfer_t){.shown.result = TPC_RUNNING, .loop = loop, .easy = easy, .content = {read, trail},
                         .judge = judge, .next_ready = this, .socket.descriptor = -1};
    int (*set)(CURL *, int, ...) = loop->library->easy_setopt;
    set(easy, CURLOPT_PRIVATE, this);
    set(easy, CURLOPT_ERRORBUFFER, this->shown.error);
    if (loop->sessions) set(easy, CURLOPT_SHARE, loop->sessions);
    set(easy, CURLOPT_SSL_CTX_DATA, this);
    if (loop->library->set_info_callback) set(easy, CURLOPT_SSL_CTX_FUNCTION, report_close_notify);
    set(easy, CURLOPT_HEADERFUNCTION, on_header);
    set(easy, CURLOPT_HEADERDATA, this);
    set(easy, CURLOPT_WRITEFUNCTION, on_body);
    set(easy, CURLOPT_WRITEDATA, this);
    tpc_set_request_callbacks(this);
    return &this->shown;
}

void tpc_transfer_free(tpc_transfer *transfer) {
    transfer_t *this = whole(transfer);
    if (this->activity != ACTIVITY_NONE) tpc_transfer_end(transfer);
    library_of(this)->easy_cleanup(this->easy);
    tpc_origin_release(library_of(this), this->origin);
    free(this->request.fields);
    free(this->request.url);
    free(this->request.target);
    free(this->request.connect_to);
    free(this->overrides);
    free(this->proxy.urls[0]);
    free(this->proxy.urls[1]);
    free(this->proxy.exceptions);
    free(this->unix_socket);
    free_buffer(&this->shown.head);
    free_buffer(&this->shown.body);
    free_buffer(&this->shown.trailers);
    free(this);
}

// MARK: One request.

static void enter_loop(transfer_t *this) {
    transfer_t **first = &this->loop->active;
    this->next = *first;
    this->place = first;
    if (this->next) this->next->place = &this->next;
    *first = this;
    this->activity = ACTIVITY_RUNNING;
}

static void tell_ended(transfer_t *this) {
    const tpc_pool_watcher *told = &this->loop->watcher;
    if (told->watcher) told->ended(told->watcher, this->shown.owner);
}

static void leave_loop(transfer_t *this) {
    // At the removal of a paused HTTP/2 stream, libcurl 7.88 does not free the stream's data.
    bool is_paused = this->paused & TPC_PAUSE_RECEIVING && this->shown.result == TPC_RUNNING;
    this->activity = ACTIVITY_LEAVING;
    if (is_paused && tpc_http2_has_answered(this)) library_of(this)->easy_pause(this->easy, 0);
    tpc_held_sigpipe held;
    tpc_hold_sigpipe(&held, library_of(this)->raises_sigpipe);
    library_of(this)->multi_remove_handle(this->loop->multi, this->easy);
    tpc_release_sigpipe(&held);
    *this->place = this->next;
    if (this->next) this->next->place = this->place;
    this->activity = ACTIVITY_NONE;
    tell_ended(this);
}

int tpc_transfer_begin(tpc_transfer *transfer, const tpc_request *request) {
    transfer_t *this = whole(transfer);
    int code = tpc_set_request(this, request);
    if (code != 0) return code;
    enter_loop(this);
    // The other codes of multi_add_handle mean a wrong use.
    return library_of(this)->multi_add_handle(this->loop->multi, this->easy) == 0 ? 0 : CURLE_OUT_OF_MEMORY;
}

static void forget(transfer_t *this) {
    tpc_loop *loop = this->loop;
    for (transfer_t **place = &loop->first_ready; *place; place = &(*place)->next_ready) {
        if (*place != this) continue;
        *place = this->next_ready;
        if (!*place) loop->last_ready = place;
        break;
    }
    this->next_ready = this;
}

tpc_transfer *tpc_loop_next_ready(tpc_loop *loop) {
    transfer_t *first = loop->first_ready;
    if (!first) return NULL;
    forget(first);
    return &first->shown;
}

void tpc_transfer_end(tpc_transfer *transfer) {
    transfer_t *this = whole(transfer);
    if (this->activity != ACTIVITY_NONE) leave_loop(this);
    if (this->next_ready != this) forget(this);
    tpc_unset_request(this);
    this->paused = 0;
    hold(this, false);
    this->socket.descriptor = -1;
    memset(&this->connection, 0, sizeof this->connection);
    this->http2.was_refused = this->http2.needs_http1 = this->has_resolved = false;
    tpc_buffer head = this->shown.head;
    head.count = 0;
    if (head.capacity > KEPT_HEAD) free_buffer(&head);
    free_buffer(&this->shown.body);
    free_buffer(&this->shown.trailers);
    this->shown = (tpc_transfer){.trust = this->shown.trust, .head = head, .result = TPC_RUNNING};
}

// Only the write callback pauses receiving, when more bytes arrive. If other code pauses receiving while bytes arrive, libcurl
// 8.14 runs the transfer without end.
void tpc_transfer_pause(tpc_transfer *transfer, int directions) {
    transfer_t *this = whole(transfer);
    if (this->activity != ACTIVITY_RUNNING || transfer->result != TPC_RUNNING) return;
    transfer->paused = directions;
    hold(this, directions & TPC_PAUSE_RECEIVING);
    int before = this->paused;
    this->paused &= directions;
    if (this->paused != before) library_of(this)->easy_pause(this->easy, this->paused);
}

// Changing the pause makes libcurl run the transfer.
void tpc_transfer_nudge(tpc_transfer *transfer) {
    transfer_t *this = whole(transfer);
    library_of(this)->easy_pause(this->easy, TPC_PAUSE_SENDING);
    library_of(this)->easy_pause(this->easy, 0);
}

// MARK: The end of a transfer.

// If libcurl notices the end of a reused connection during a write or by an HTTP/2 error, libcurl does not send the request
// again.
static bool met_dead_connection(const tpc_transfer *transfer, int result) {
    enum { CURLE_HTTP2 = 16, CURLE_PARTIAL_FILE = 18, CURLE_SEND_ERROR = 55, CURLE_HTTP3 = 95 };
    if (!transfer->is_reused || transfer->phase != TPC_PHASE_HEAD) return false;
    if (result == CURLE_HTTP2 || result == CURLE_HTTP3 || result == CURLE_SEND_ERROR) return true;
    return result == CURLE_PARTIAL_FILE && transfer->is_http2;
}

void tpc_transfer_finish(tpc_transfer *transfer, int result) {
    transfer_t *this = whole(transfer);
    const tpc_loop *loop = this->loop;
    transfer->result = result;
    if (result && transfer->sends == 0 && this->request.has_refused && !this->request.has_opened) transfer->cause = TPC_CAUSE_ADDRESS;
    // The lookup of a name also needs a descriptor.
    if (result && transfer->sends == 0 && !tpc_has_descriptors()) transfer->cause = TPC_CAUSE_NO_DESCRIPTORS;
    if (transfer->cause == TPC_CAUSE_NONE && met_dead_connection(transfer, result)) transfer->cause = TPC_CAUSE_LOST;
    bool has_no_cause = transfer->cause == TPC_CAUSE_NONE || transfer->cause == TPC_CAUSE_LOST;
    if (result && has_no_cause && tpc_http2_is_refused(this)) transfer->cause = TPC_CAUSE_REFUSED;
    if (result && has_no_cause && this->http2.needs_http1) transfer->cause = TPC_CAUSE_NEEDS_HTTP1;
    // An HTTP/2 connection may still carry other transfers.
    if (result == 0 && this->socket.descriptor >= 0 && !tpc_http2_has_answered(this))
        tpc_connection_set_idle(this->loop, this->socket.descriptor, transfer);
    // If the list is full, this transfer's session may be missing in the list.
    this->connection.has_close_notify = loop->close_notify_count == TPC_CLOSE_NOTIFIES;
    for (size_t index = 0; index < loop->close_notify_count; index++)
        this->connection.has_close_notify |= loop->close_notifies[index] == this->connection.session;
    tell_ended(this);
    tpc_transfer_mark(this);
}

void tpc_transfer_set_descriptor(tpc_transfer *transfer, int descriptor) {
    transfer_t *this = whole(transfer);
    this->socket.descriptor = descriptor;
    const tpc_pool_watcher *told = &this->loop->watcher;
    if (told->watcher && transfer->sends > 0 && this->connection.port == 0)
        told->waiting(told->watcher, transfer->owner, descriptor);
}

// MARK: Facts about a transfer.

int64_t tpc_transfer_length(tpc_transfer *transfer) {
    int64_t length = -1;
    library_of(whole(transfer))->easy_getinfo(whole(transfer)->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    return length;
}

bool tpc_transfer_was_cut(tpc_transfer *transfer) {
    transfer_t *this = whole(transfer);
    return library_of(this)->set_info_callback && this->connection.session && !this->connection.has_close_notify;
}

void tpc_transfer_times(tpc_transfer *transfer, tpc_times *times) {
    transfer_t *this = whole(transfer);
    int (*get)(CURL *, int, ...) = library_of(this)->easy_getinfo;
    *times = (tpc_times){.is_reused = tpc_transfer_connects(transfer) == 0};
    if (!times->is_reused) {
        get(this->easy, CURLINFO_NAMELOOKUP_TIME_T, &times->lookup);
        get(this->easy, CURLINFO_CONNECT_TIME_T, &times->connect);
        get(this->easy, CURLINFO_APPCONNECT_TIME_T, &times->handshake);
    }
    // Some versions also report these times for a request that was never sent.
    if (transfer->sends > 0) {
        get(this->easy, CURLINFO_PRETRANSFER_TIME_T, &times->ready);
        get(this->easy, CURLINFO_STARTTRANSFER_TIME_T, &times->first_byte);
    }
    get(this->easy, CURLINFO_PRIMARY_IP, &times->peer);
}

static long number(tpc_transfer *transfer, int info) {
    long value = 0;
    library_of(whole(transfer))->easy_getinfo(whole(transfer)->easy, info, &value);
    return value;
}

bool tpc_transfer_had_place(tpc_transfer *transfer) {
    return whole(transfer)->has_resolved || tpc_transfer_connects(transfer) > 0;
}

const char *tpc_error_text(tpc_transfer *transfer, int code) { return library_of(whole(transfer))->easy_strerror(code); }
long tpc_transfer_connects(tpc_transfer *transfer) { return number(transfer, CURLINFO_NUM_CONNECTS); }
long tpc_transfer_connect_status(tpc_transfer *transfer) { return number(transfer, CURLINFO_HTTP_CONNECTCODE); }
long tpc_transfer_proxy_error(tpc_transfer *transfer) { return number(transfer, CURLINFO_PROXY_ERROR); }

int tpc_transfer_connection(tpc_transfer *transfer) {
    const transfer_t *this = whole(transfer);
    if (this->connection.port > 0) return this->connection.port;
    return this->socket.descriptor >= 0 ? -1 - this->socket.descriptor : 0;
}
