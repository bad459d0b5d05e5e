// SPDX-License-Identifier: Apache-2.0

#include "transfer.h"
#include <string.h>

// What libcurl says of HTTP/2.
//
// A request that the server has certainly not acted on may be sent again (RFC 9113 §8.7). libcurl says in its verbose text alone
// which requests these are, and of a GOAWAY it tells only the transfer that reads from the connection at that moment. So each
// transfer over HTTP/2 listens to the text, and tells the others on its connection.

bool tpc_http2_has_answered(transfer_t *this) {
    long version = 0;
    tpc_curl.easy_getinfo(this->easy, CURLINFO_HTTP_VERSION, &version);
    return version >= CURL_HTTP_VERSION_2;
}

void tpc_http2_begin(transfer_t *this) {
    this->shown.is_http2 = tpc_tls_is_http2(this->connection.session);
    this->http2.stream = this->http2.last_stream = -1;
    this->http2.was_refused = this->http2.needs_http1 = false;
    bool is_verbose = this->changed & CHANGED_VERBOSE;
    if (is_verbose == this->shown.is_http2) return;
    tpc_curl.easy_setopt(this->easy, CURLOPT_VERBOSE, (long)this->shown.is_http2);
    this->changed ^= CHANGED_VERBOSE;
}

bool tpc_transfer_has_goaway(const tpc_transfer *transfer) {
    return transfer->is_http2 && ((const transfer_t *)transfer)->http2.last_stream >= 0;
}

bool tpc_http2_is_refused(transfer_t *this) {
    if (!this->shown.is_http2 || this->shown.phase != TPC_PHASE_HEAD) return false;
    bool is_left_out = this->http2.last_stream >= 0 && this->http2.stream > this->http2.last_stream;
    return is_left_out || this->http2.was_refused;
}

// A server may send GOAWAY any number of times. Only a smaller number is news.
static void tell_last_stream(transfer_t *reader, int64_t last_stream) {
    if (reader->http2.last_stream >= 0 && last_stream >= reader->http2.last_stream) return;
    for (transfer_t *each = reader->loop->active; each; each = each->next) {
        bool is_same = each->connection.session == reader->connection.session && each->connection.port == reader->connection.port;
        if (each->shown.is_http2 && is_same) each->http2.last_stream = last_stream;
    }
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

// The text also quotes fields of the caller, so only the beginning of a line counts.
int tpc_http2_on_text(CURL *easy, int type, char *text, size_t count, void *user) {
    transfer_t *this = user;
    const char *at = text, *end = text + count;
    if (type != CURLINFO_TEXT || !this->shown.is_http2) return 0;
    if (skip(&at, end, "Using Stream ID: ")) {  // 7.88
        this->http2.stream = skip_number(&at, end);
    } else if (skip(&at, end, "[HTTP/2] [")) {
        int64_t stream = skip_number(&at, end);
        if (skip(&at, end, "] OPENED stream")) this->http2.stream = stream;
    } else if (skip(&at, end, "recveived GOAWAY, error=") || skip(&at, end, "received GOAWAY, error=")) {
        skip_number(&at, end);
        if (skip(&at, end, ", last_stream=")) tell_last_stream(this, skip_number(&at, end));
    } else if (skip(&at, end, "REFUSED_STREAM, retrying")) {
        this->http2.was_refused = true;
    } else if (skip(&at, end, "HTTP/2 stream ")) {
        skip_number(&at, end);
        if (skip(&at, end, " was not closed cleanly: HTTP_1_1_REQUIRED")) this->http2.needs_http1 = true;
    }
    return 0;
}
