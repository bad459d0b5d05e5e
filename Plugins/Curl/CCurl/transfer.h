// SPDX-License-Identifier: Apache-2.0

// The whole of a transfer, for the files that implement it: transfer.c (its life), options.c, target.c, route.c, callbacks.c,
// http2.c and info.c.

#pragma once

#include "libcurl.h"
#include "loop.h"

// Options of the easy handle that a request has set, and that `tpc_transfer_end` must set back.
enum { CHANGED_METHOD = 1, CHANGED_TRAILERS = 2, CHANGED_VERSION = 4, CHANGED_VERBOSE = 8, CHANGED_ROUTE = 16, CHANGED_FRESH = 32 };

typedef enum {
    ACTIVITY_NONE,
    // libcurl has it.
    ACTIVITY_RUNNING,
    // It is being removed from libcurl, and content that still comes is dropped.
    ACTIVITY_LEAVING,
} activity_t;

typedef struct transfer {
    // What Swift sees. It must be the first member.
    tpc_transfer shown;
    tpc_loop *loop;
    CURL *easy;
    struct {
        tpc_read read;
        tpc_trail trail;
    } content;
    tpc_judge judge;
    activity_t activity;
    // The list of the loop's active transfers: the next one, and the pointer that leads to this one.
    struct transfer *next, **place;
    // The list of the loop's transfers that have news. Outside of the list it leads to the transfer itself.
    tpc_transfer *next_ready;

    struct {
        int traits;
        struct curl_slist *fields;
        // Both forms of the target, if libcurl decides later whether a proxy gets the request; otherwise NULL.
        char *url, *target;
        // Where the connection goes instead, in libcurl's line.
        struct curl_slist *connect_to;
        // Whether the request's rule has refused an address, and whether a socket was opened to another one.
        bool has_refused, has_opened;
    } request;
    // What libcurl has of the URL, as text and in parts.
    struct {
        char *text;
        CURLU *parts;
    } url;
    // CHANGED_… bits.
    int changed;
    // The directions that libcurl itself has paused, as TPC_PAUSE_… bits. See `tpc_transfer_pause`.
    int paused;
    // The version of HTTP that the configuration has set.
    long version;
    struct curl_slist *overrides;
    struct {
        // URLs for http and https, NULL for none, then always NULL, for requests that go through none; and the one of them that
        // libcurl has.
        char *urls[3];
        int current;
        // The hosts that are reached without it; NULL for none.
        char *exceptions;
    } proxy;
    // The Unix socket that the configuration has set, or NULL.
    char *unix_socket;

    // The connection of the last send: its TLS session, NULL if it has none or that is unknown, and its local port, because a later
    // session may have the same address in memory. Whether the peer has ended the session with a close_notify.
    struct {
        const void *session;
        int port;
        bool has_close_notify;
    } connection;
    // What libcurl says of HTTP/2 since the last send: the number of the stream, the last stream of the connection that the server
    // will answer (GOAWAY, RFC 9113 §6.8), -1 if unknown, whether the server has refused the stream (REFUSED_STREAM, §8.7), and whether
    // it wants HTTP/1.1 for this request (HTTP_1_1_REQUIRED, §7).
    struct {
        int64_t stream, last_stream;
        bool was_refused, needs_http1;
    } http2;
    // The descriptor that libcurl waits for, -1 if unknown, and whether its reading is held back.
    struct {
        int descriptor;
        bool is_held;
    } socket;
    // Whether libcurl has asked for addresses of the host, which it does only within the limits of connections.
    bool has_resolved;
} transfer_t;

static inline transfer_t *whole(tpc_transfer *transfer) { return (transfer_t *)transfer; }

// transfer.c

/// Puts the transfer among those that have news.
void tpc_transfer_mark(transfer_t *this);
/// Notes why libcurl, which wants to send the request again, may not.
void tpc_transfer_refuse_repeat(transfer_t *this);

// options.c

/// Copies lines that end with NUL into a list, which is one block of memory for `free`; without lines it is NULL.
/// Returns libcurl's code: 0, or that there is no memory.
int tpc_list_create(struct curl_slist **list, const char *lines, size_t count);

// target.c

/// Sets URL, target and proxy of a request; returns libcurl's code.
int tpc_set_target(transfer_t *this, const tpc_request *request);
/// Sets the target of a request for which libcurl has chosen whether to use a proxy.
void tpc_choose_target(transfer_t *this);

// route.c

/// Sets where the connection of a request goes; returns libcurl's code.
int tpc_set_route(transfer_t *this, const tpc_request *request);
/// Sets that back to what the configuration says.
void tpc_unset_route(transfer_t *this);
/// Asks the request's rule about the peer of the connection that was chosen for it.
bool tpc_allows_peer(transfer_t *this, const char *peer);

// callbacks.c

void tpc_set_callbacks(transfer_t *this);
void tpc_set_trailer_callback(transfer_t *this, bool is_set);
/// Stops or resumes polling the socket of a paused transfer, if this libcurl would go on to read from it.
void tpc_hold(transfer_t *this, bool is_held);
void tpc_buffer_free(tpc_buffer *buffer);

// http2.c

/// Begins to listen to what libcurl says of HTTP/2, if the request is about to be sent by that.
void tpc_http2_begin(transfer_t *this);
/// Returns whether the response came by HTTP/2, as far as one has come.
bool tpc_http2_has_answered(transfer_t *this);
/// Returns whether the server has certainly not acted on what was sent last.
bool tpc_http2_is_refused(transfer_t *this);
/// The CURLOPT_DEBUGFUNCTION, which reads the lines of the verbose text about HTTP/2.
int tpc_http2_on_text(CURL *easy, int type, char *text, size_t count, void *user);
