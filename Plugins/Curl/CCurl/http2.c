// SPDX-License-Identifier: Apache-2.0

// The HTTP version of a request's connection, and libcurl's reports about HTTP/2 and HTTP/3. Uses library.c.
//
// If the server has certainly not acted on a request, the request may be sent again (RFC 9113 §8.7). Only libcurl's verbose
// text identifies these requests. libcurl reports a GOAWAY only to the transfer that reads from the connection at that moment.
// Each transfer over HTTP/2 therefore reads this text, and informs the other transfers on the connection. Over HTTP/3, libcurl
// does not report a GOAWAY (RFC 9114 §5.2), and opens no more streams on the connection.

#include "engine.h"
#include <stdio.h>

bool tpc_http2_has_answered(transfer_t *this) {
    long version = 0;
    library_of(this)->easy_getinfo(this->easy, CURLINFO_HTTP_VERSION, &version);
    return version >= CURL_HTTP_VERSION_2;
}

// Over HTTP/3, libcurl reports no TLS connection or a TLS connection with the protocol HTTP/3.
static bool is_http3(transfer_t *this) {
    const void *session = this->connection.session;
    bool may_be = (this->changed & CHANGED_VERSION ? 0 : this->version) >= TPC_HTTP_3;
    return may_be && (!session || tpc_tls_speaks(library_of(this), session, "h3"));
}

void tpc_note_version(transfer_t *this) {
    this->shown.is_http3 = is_http3(this);
    this->shown.is_http2 = tpc_tls_speaks(library_of(this), this->connection.session, "h2");
    this->http2.stream = this->http2.last_stream = -1;
    this->http2.was_refused = this->http2.needs_http1 = false;
    bool is_verbose = this->changed & CHANGED_VERBOSE, has_streams = this->shown.is_http2 || this->shown.is_http3;
    if (is_verbose == has_streams) return;
    library_of(this)->easy_setopt(this->easy, CURLOPT_VERBOSE, (long)has_streams);
    this->changed ^= CHANGED_VERBOSE;
}

bool tpc_http2_is_refused(transfer_t *this) {
    if (this->shown.phase != TPC_PHASE_HEAD) return false;
    // An earlier request has shown that this libcurl reports new streams. This request therefore has no stream.
    bool is_unsent = this->shown.is_http3 && this->shown.is_reused && this->loop->has_streams && this->http2.stream < 0;
    bool is_left_out = this->http2.last_stream >= 0 && this->http2.stream > this->http2.last_stream;
    return is_unsent || is_left_out || this->http2.was_refused;
}

// A server may send several GOAWAY frames. Only a frame with a smaller number has an effect.
static void tell_last_stream(transfer_t *reader, int64_t last_stream) {
    if (reader->http2.last_stream >= 0 && last_stream >= reader->http2.last_stream) return;
    for (transfer_t *each = reader->loop->active; each; each = each->next) {
        bool is_same = each->connection.session == reader->connection.session && each->connection.port == reader->connection.port;
        if (each->shown.is_http2 && is_same) each->http2.last_stream = last_stream;
    }
}

// The CURLOPT_DEBUGFUNCTION, for the lines of the verbose text.
int tpc_http2_on_text(CURL *easy, int type, char *text, size_t count, void *user) {
    transfer_t *this = user;
    int64_t number = 0;
    if (type != CURLINFO_TEXT || !(this->shown.is_http2 || this->shown.is_http3)) return 0;
    switch (tpc_read_line(text, count, &number)) {
    case TPC_LINE_STREAM:
        this->http2.stream = number;
        this->loop->has_streams = true;
        break;
    case TPC_LINE_GOAWAY: tell_last_stream(this, number); break;
    case TPC_LINE_REFUSED: this->http2.was_refused = true; break;
    case TPC_LINE_NEEDS_HTTP1: this->http2.needs_http1 = true; break;
    // libcurl 8.14 does not replace the text of an earlier failure, such as a failure of another address.
    case TPC_LINE_INVALID: snprintf(this->shown.error, sizeof this->shown.error, "%.*s", (int)count, text); break;
    case TPC_LINE_OTHER: break;
    }
    return 0;
}

bool tpc_transfer_has_goaway(const tpc_transfer *transfer) {
    return transfer->is_http2 && ((const transfer_t *)transfer)->http2.last_stream >= 0;
}
