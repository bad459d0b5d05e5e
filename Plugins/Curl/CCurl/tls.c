// SPDX-License-Identifier: Apache-2.0

#include "libcurl.h"
#include "loop.h"
#include <dlfcn.h>
#include <string.h>

// What libcurl does not say of TLS, but OpenSSL does: the functions of the OpenSSL that libcurl itself was linked to, because a
// process may contain several.

enum { SSL_CB_READ_ALERT = 0x4004, CLOSE_NOTIFY = 0 };

int (*tpc_report_close_notify)(CURL *, void *, void *);

static void (*set_info_callback)(void *, void (*)(const void *, int, int));
static void (*get_protocol)(const void *, const unsigned char **, unsigned *);

// libcurl accepts the end of a connection as the end of content that has no other end. Anyone in between can end a connection.
// Only a close_notify shows that the server has ended it (RFC 9112 §9.8).
static void on_info(const void *session, int where, int value) {
    if (where == SSL_CB_READ_ALERT && (value & 0xFF) == CLOSE_NOTIFY) tpc_loop_note_close_notify(session);
}

static int report_close_notify(CURL *easy, void *context, void *user) {
    set_info_callback(context, on_info);
    return 0;
}

void tpc_tls_load(void *libcurl, const char *tls_text) {
    if (strncmp(tls_text, "OpenSSL/", 8) != 0) return;
    *(void **)&set_info_callback = dlsym(libcurl, "SSL_CTX_set_info_callback");
    if (set_info_callback) tpc_report_close_notify = report_close_notify;
    *(void **)&get_protocol = dlsym(libcurl, "SSL_get0_alpn_selected");
    tpc_pem_load(libcurl);
}

bool tpc_tls_is_http2(const void *session) {
    const unsigned char *name = NULL;
    unsigned count = 0;
    if (session && get_protocol) get_protocol(session, &name, &count);
    return count == 2 && memcmp(name, "h2", 2) == 0;
}

bool tpc_tells_http2(void) { return get_protocol != NULL; }
