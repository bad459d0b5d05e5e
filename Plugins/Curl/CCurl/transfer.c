// SPDX-License-Identifier: Apache-2.0

#include "pool.h"
#include "transfer.h"
#include <stdlib.h>
#include <string.h>

// The life of a transfer: it is created once, and begins and ends for each request.

enum { RECEIVE_BUFFER = 131072, SEND_BUFFER = 262144, KEPT_HEAD = 16384 };

// MARK: The handle.

static void set_fixed_options(CURL *easy) {
    int (*set)(CURL *, int, ...) = tpc_curl.easy_setopt;
    set(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    set(easy, CURLOPT_NOSIGNAL, 1L);
    set(easy, CURLOPT_BUFFERSIZE, (long)RECEIVE_BUFFER);
    set(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)SEND_BUFFER);
    set(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    // The target goes out as it was checked.
    set(easy, CURLOPT_PATH_AS_IS, 1L);
    set(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    // Proxies come from the configuration, never from the environment.
    set(easy, CURLOPT_PROXY, "");
    set(easy, TPC_NO_PROXY, "");
    set(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    if (tpc_report_close_notify) set(easy, CURLOPT_SSL_CTX_FUNCTION, tpc_report_close_notify);
    // Ending a transfer does not wait for the thread that resolves its host.
    set(easy, CURLOPT_QUICK_EXIT, 1L);
}

tpc_transfer *tpc_transfer_create(tpc_loop *loop, tpc_read read, tpc_trail trail, tpc_judge judge) {
    transfer_t *this = calloc(1, sizeof *this);
    CURL *easy = this ? tpc_curl.easy_init() : NULL;
    CURLU *parts = easy ? tpc_curl.url() : NULL;
    if (!parts) {
        if (easy) tpc_curl.easy_cleanup(easy);
        free(this);
        return NULL;
    }
    *this = (transfer_t){.shown.result = TPC_RUNNING, .loop = loop, .easy = easy, .content = {read, trail},
                         .judge = judge, .next_ready = &this->shown, .url.parts = parts, .socket.descriptor = -1};
    tpc_curl.easy_setopt(easy, CURLOPT_PRIVATE, this);
    tpc_curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, this->shown.error);
    if (loop->sessions) tpc_curl.easy_setopt(easy, CURLOPT_SHARE, loop->sessions);
    set_fixed_options(easy);
    tpc_set_callbacks(this);
    tpc_set_socket_callbacks(loop, easy, &this->shown);
    return &this->shown;
}

void tpc_transfer_free(tpc_transfer *transfer) {
    transfer_t *this = whole(transfer);
    if (this->activity != ACTIVITY_NONE) tpc_transfer_end(transfer);
    tpc_curl.easy_cleanup(this->easy);
    tpc_curl.url_cleanup(this->url.parts);
    free(this->url.text);
    free(this->request.fields);
    free(this->request.url);
    free(this->request.target);
    free(this->request.connect_to);
    free(this->overrides);
    free(this->proxy.urls[0]);
    free(this->proxy.urls[1]);
    free(this->proxy.exceptions);
    free(this->unix_socket);
    tpc_buffer_free(&this->shown.head);
    tpc_buffer_free(&this->shown.body);
    tpc_buffer_free(&this->shown.trailers);
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

static void leave_loop(transfer_t *this) {
    // 7.88 does not free what it holds back of a paused HTTP/2 stream that is removed.
    bool is_paused = this->paused & TPC_PAUSE_RECEIVING && this->shown.result == TPC_RUNNING;
    this->activity = ACTIVITY_LEAVING;
    if (is_paused && tpc_http2_has_answered(this)) tpc_curl.easy_pause(this->easy, 0);
    tpc_curl.multi_remove_handle(this->loop->multi, this->easy);
    *this->place = this->next;
    if (this->next) this->next->place = this->place;
    this->activity = ACTIVITY_NONE;
    tpc_pool_ended(this->loop, &this->shown);
}

static int set_method(transfer_t *this, const tpc_request *request) {
    int (*set)(CURL *, int, ...) = tpc_curl.easy_setopt;
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
    int (*set)(CURL *, int, ...) = tpc_curl.easy_setopt;
    set(this->easy, CURLOPT_CUSTOMREQUEST, NULL);
    set(this->easy, CURLOPT_NOBODY, 0L);
    set(this->easy, CURLOPT_UPLOAD, 0L);
    set(this->easy, CURLOPT_INFILESIZE_LARGE, (int64_t)-1);
    set(this->easy, CURLOPT_HTTPGET, 1L);
}

int tpc_transfer_begin(tpc_transfer *transfer, const tpc_request *request) {
    transfer_t *this = whole(transfer);
    this->request.traits = request->traits;
    int code = tpc_list_create(&this->request.fields, request->fields, request->fields_count);
    if (code == 0) code = tpc_set_target(this, request);
    if (code == 0 && request->traits & TPC_ROUTED) code = tpc_set_route(this, request);
    if (code == 0) code = tpc_curl.easy_setopt(this->easy, CURLOPT_HTTPHEADER, this->request.fields);
    if (code == 0) code = set_method(this, request);
    if (code != 0) return code;
    if (request->traits & TPC_TRAILERS) {
        this->changed |= CHANGED_TRAILERS;
        tpc_set_trailer_callback(this, true);
    }
    if (request->version) {
        this->changed |= CHANGED_VERSION;
        tpc_curl.easy_setopt(this->easy, TPC_HTTP_VERSION, (long)request->version);
    }
    if (request->traits & TPC_FRESH) {
        this->changed |= CHANGED_FRESH;
        tpc_curl.easy_setopt(this->easy, CURLOPT_FRESH_CONNECT, 1L);
    }
    enter_loop(this);
    // The other codes are for misuse.
    return tpc_curl.multi_add_handle(this->loop->multi, this->easy) == 0 ? 0 : CURLE_OUT_OF_MEMORY;
}

void tpc_transfer_end(tpc_transfer *transfer) {
    transfer_t *this = whole(transfer);
    if (this->activity != ACTIVITY_NONE) leave_loop(this);
    if (this->next_ready != transfer) tpc_loop_forget(this->loop, transfer);
    if (this->changed & CHANGED_METHOD) unset_method(this);
    if (this->changed & CHANGED_TRAILERS) tpc_set_trailer_callback(this, false);
    if (this->changed & CHANGED_VERSION) tpc_curl.easy_setopt(this->easy, TPC_HTTP_VERSION, this->version);
    if (this->changed & CHANGED_VERBOSE) tpc_curl.easy_setopt(this->easy, CURLOPT_VERBOSE, 0L);
    if (this->changed & CHANGED_ROUTE) tpc_unset_route(this);
    if (this->changed & CHANGED_FRESH) tpc_curl.easy_setopt(this->easy, CURLOPT_FRESH_CONNECT, 0L);
    this->changed = this->paused = 0;
    tpc_curl.easy_setopt(this->easy, CURLOPT_HTTPHEADER, NULL);
    free(this->request.fields);
    free(this->request.url);
    free(this->request.target);
    memset(&this->request, 0, sizeof this->request);
    tpc_hold(this, false);
    this->socket.descriptor = -1;
    memset(&this->connection, 0, sizeof this->connection);
    this->http2.was_refused = this->http2.needs_http1 = this->has_resolved = false;
    tpc_buffer head = this->shown.head;
    head.count = 0;
    if (head.capacity > KEPT_HEAD) tpc_buffer_free(&head);
    tpc_buffer_free(&this->shown.body);
    tpc_buffer_free(&this->shown.trailers);
    this->shown = (tpc_transfer){.trust = this->shown.trust, .head = head, .result = TPC_RUNNING};
}

// Receiving is paused by the callback alone, when more has come: if it is paused from outside, libcurl 8.14 runs the transfer
// without a pause when something comes at that moment, and wants to be called again and again.
void tpc_transfer_pause(tpc_transfer *transfer, int directions) {
    transfer_t *this = whole(transfer);
    if (this->activity != ACTIVITY_RUNNING || transfer->result != TPC_RUNNING) return;
    transfer->paused = directions;
    tpc_hold(this, directions & TPC_PAUSE_RECEIVING);
    int before = this->paused;
    this->paused &= directions;
    if (this->paused != before) tpc_curl.easy_pause(this->easy, this->paused);
}

// A change of the pause makes libcurl run the transfer.
void tpc_transfer_nudge(tpc_transfer *transfer) {
    CURL *easy = whole(transfer)->easy;
    tpc_curl.easy_pause(easy, TPC_PAUSE_SENDING);
    tpc_curl.easy_pause(easy, 0);
}

// MARK: For the loop.

void tpc_transfer_mark(transfer_t *this) {
    if (this->next_ready == &this->shown) tpc_loop_mark(this->loop, &this->shown, &this->next_ready);
}

// Why a request that was sent got no answer: what HTTP/2 says, or that its connection had served before.
static tpc_cause cause_of_repeat(transfer_t *this) {
    if (this->http2.needs_http1) return TPC_CAUSE_NEEDS_HTTP1;
    if (tpc_http2_is_refused(this)) return TPC_CAUSE_REFUSED;
    return this->shown.is_reused ? TPC_CAUSE_LOST : TPC_CAUSE_NONE;
}

// libcurl sends again, whatever the method, what a connection that had served before did not answer with a byte, and what the
// server wants by HTTP/1.1. Only the client may, which counts what it sends.
void tpc_transfer_refuse_repeat(transfer_t *this) {
    // After a 417 it would send again without Expect, and drop the content of the response, which is one like any other.
    this->shown.cause = this->shown.phase != TPC_PHASE_HEAD ? TPC_CAUSE_SKIPPED : cause_of_repeat(this);
}

bool tpc_transfer_may_connect(tpc_transfer *transfer) {
    transfer_t *this = whole(transfer);
    if (transfer->sends == 0) return true;
    tpc_transfer_refuse_repeat(this);
    // libcurl may try the other addresses, in its own time, before it ends.
    tpc_transfer_mark(this);
    return false;
}

// Where libcurl notices the end of a connection that had served before when it writes, or by HTTP/2's words, it does not want to
// send again.
static bool met_dead_connection(const tpc_transfer *transfer, int result) {
    enum { CURLE_HTTP2 = 16, CURLE_PARTIAL_FILE = 18, CURLE_SEND_ERROR = 55 };
    if (!transfer->is_reused || transfer->phase != TPC_PHASE_HEAD) return false;
    return result == CURLE_HTTP2 || result == CURLE_SEND_ERROR || (result == CURLE_PARTIAL_FILE && transfer->is_http2);
}

void tpc_transfer_finish(tpc_transfer *transfer, int result) {
    transfer_t *this = whole(transfer);
    const tpc_loop *loop = this->loop;
    transfer->result = result;
    if (result && transfer->sends == 0 && this->request.has_refused && !this->request.has_opened) transfer->cause = TPC_CAUSE_ADDRESS;
    // Looking up a name needs a descriptor, too.
    if (result && transfer->sends == 0 && !tpc_has_descriptors()) transfer->cause = TPC_CAUSE_NO_DESCRIPTORS;
    if (transfer->cause == TPC_CAUSE_NONE && met_dead_connection(transfer, result)) transfer->cause = TPC_CAUSE_LOST;
    bool has_no_cause = transfer->cause == TPC_CAUSE_NONE || transfer->cause == TPC_CAUSE_LOST;
    if (result && has_no_cause && tpc_http2_is_refused(this)) transfer->cause = TPC_CAUSE_REFUSED;
    if (result && has_no_cause && this->http2.needs_http1) transfer->cause = TPC_CAUSE_NEEDS_HTTP1;
    // A connection of HTTP/2 may have other transfers.
    if (result == 0 && this->socket.descriptor >= 0 && !tpc_http2_has_answered(this))
        tpc_connection_set_idle(this->loop, this->socket.descriptor, transfer);
    // If there were too many, this one may have been among them.
    this->connection.has_close_notify = loop->close_notify_count == TPC_CLOSE_NOTIFIES;
    for (size_t index = 0; index < loop->close_notify_count; index++)
        this->connection.has_close_notify |= loop->close_notifies[index] == this->connection.session;
    tpc_pool_ended(this->loop, transfer);
    tpc_transfer_mark(this);
}

void tpc_transfer_set_descriptor(tpc_transfer *transfer, int descriptor) {
    transfer_t *this = whole(transfer);
    this->socket.descriptor = descriptor;
    if (transfer->sends > 0 && this->connection.port == 0) tpc_pool_waiting(this->loop, transfer, descriptor);
}

tpc_loop *tpc_transfer_loop(tpc_transfer *transfer) { return whole(transfer)->loop; }

tpc_transfer **tpc_transfer_next_ready(tpc_transfer *transfer) { return &whole(transfer)->next_ready; }

bool tpc_transfers_use_port(tpc_loop *loop, int port) {
    for (transfer_t *each = loop->active; each; each = each->next)
        if (each->shown.result == TPC_RUNNING && each->connection.port == port) return true;
    return false;
}
