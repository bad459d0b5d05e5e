// SPDX-License-Identifier: Apache-2.0

// TLS with the system's OpenSSL, which is loaded on demand.
#include "CTurnpikeValkey.h"
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct openssl {
    const void *(*client_method)(void);
    void *(*ctx_new)(const void *);
    void (*ctx_free)(void *);
    int (*ctx_default_paths)(void *);
    int (*ctx_locations)(void *, const char *, const char *);
    void (*ctx_set_verify)(void *, int, void *);
    long (*ctx_ctrl)(void *, int, long, void *);
    void *(*new)(void *);
    void (*free)(void *);
    int (*set_fd)(void *, int);
    int (*set_host)(void *, const char *);
    void *(*get_param)(void *);
    int (*param_set_ip)(void *, const char *);
    long (*ctrl)(void *, int, long, void *);
    int (*connect)(void *);
    int (*read)(void *, void *, int);
    int (*write)(void *, const void *, int);
    int (*get_error)(const void *, int);
    long (*verify_result)(const void *);
    const char *(*verify_text)(long);
    unsigned long (*next_error)(void);
    void (*error_text)(unsigned long, char *, size_t);
    void (*clear_errors)(void);
} openssl;

enum { WANT_READ = 2, WANT_WRITE = 3, SYSCALL = 5, ZERO_RETURN = 6, VERIFY_PEER = 1 };
// The numbers of SSL_CTRL_MODE, SSL_CTRL_SET_TLSEXT_HOSTNAME and SSL_CTRL_SET_MIN_PROTO_VERSION, and their values.
enum { CTRL_MODE = 33, CTRL_HOST = 55, CTRL_OLDEST = 123, MODES = 1 | 2, TLS_1_2 = 0x0303 };

static openssl ssl;
static bool is_loaded;
static _Thread_local char reason[256];

const char *tpv_tls_load(const char *file) {
#if defined(__APPLE__)
    // The system's own libssl ends the process that loads it.
    const char *names[] = {"/opt/homebrew/lib/libssl.3.dylib", "/usr/local/lib/libssl.3.dylib"};
#else
    const char *names[] = {"libssl.so.3", "libssl.so.1.1"};
#endif
    if (is_loaded && !file) return NULL;
    void *library = file ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (size_t index = 0; index < sizeof names / sizeof *names && !library && !file; index++) {
        library = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
    }
    if (!library) {
        snprintf(reason, sizeof reason, "there is no %s that can be loaded", file ? file : "libssl");
        return reason;
    }
    openssl found, *s = &found;
    struct {
        const char *name;
        void *function;
    } all[] = {
        {"TLS_client_method", &s->client_method},
        {"SSL_CTX_new", &s->ctx_new},
        {"SSL_CTX_free", &s->ctx_free},
        {"SSL_CTX_set_default_verify_paths", &s->ctx_default_paths},
        {"SSL_CTX_load_verify_locations", &s->ctx_locations},
        {"SSL_CTX_set_verify", &s->ctx_set_verify},
        {"SSL_CTX_ctrl", &s->ctx_ctrl},
        {"SSL_new", &s->new},
        {"SSL_free", &s->free},
        {"SSL_set_fd", &s->set_fd},
        {"SSL_set1_host", &s->set_host},
        {"SSL_get0_param", &s->get_param},
        {"X509_VERIFY_PARAM_set1_ip_asc", &s->param_set_ip},
        {"SSL_ctrl", &s->ctrl},
        {"SSL_connect", &s->connect},
        {"SSL_read", &s->read},
        {"SSL_write", &s->write},
        {"SSL_get_error", &s->get_error},
        {"SSL_get_verify_result", &s->verify_result},
        {"X509_verify_cert_error_string", &s->verify_text},
        {"ERR_get_error", &s->next_error},
        {"ERR_error_string_n", &s->error_text},
        {"ERR_clear_error", &s->clear_errors},
    };
    for (size_t index = 0; index < sizeof all / sizeof *all; index++) {
        // dlsym also searches the libraries to which this library is linked.
        void *symbol = dlsym(library, all[index].name);
        if (!symbol) {
            snprintf(reason, sizeof reason, "it has no %s", all[index].name);
            dlclose(library);
            return reason;
        }
        *(void **)all[index].function = symbol;
    }
    ssl = found;
    is_loaded = true;
    return NULL;
}

void *tpv_tls_context_create(const char *authorities) {
    void *context = ssl.ctx_new(ssl.client_method());
    if (!context) return NULL;
    ssl.ctx_set_verify(context, VERIFY_PEER, NULL);
    // The modes allow partial writes, and repeated writes from another address.
    ssl.ctx_ctrl(context, CTRL_MODE, MODES, NULL);
    ssl.ctx_ctrl(context, CTRL_OLDEST, TLS_1_2, NULL);
    int is_set = authorities ? ssl.ctx_locations(context, authorities, NULL) : ssl.ctx_default_paths(context);
    if (is_set == 1) return context;
    ssl.clear_errors();
    ssl.ctx_free(context);
    return NULL;
}

void tpv_tls_context_free(void *context) {
    if (context) ssl.ctx_free(context);
}

void *tpv_tls_create(void *context, int fd, const char *host) {
    void *tls = ssl.new(context);
    if (!tls) return NULL;
    unsigned char address[16];
    bool is_number = inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
    bool is_set = ssl.set_fd(tls, fd) == 1;
    if (is_number) {
        is_set = is_set && ssl.param_set_ip(ssl.get_param(tls), host) == 1;
    } else {
        is_set = is_set && ssl.set_host(tls, host) == 1 && ssl.ctrl(tls, CTRL_HOST, 0, (void *)host) == 1;
    }
    if (is_set) return tls;
    ssl.clear_errors();
    ssl.free(tls);
    return NULL;
}

void tpv_tls_free(void *tls) {
    if (tls) ssl.free(tls);
}

static int failed(void *tls, int result) {
    int code = ssl.get_error(tls, result);
    if (code == WANT_READ) return TPV_TLS_WANTS_READ;
    if (code == WANT_WRITE) return TPV_TLS_WANTS_WRITE;
    long verified = ssl.verify_result(tls);
    unsigned long error = ssl.next_error();
    if (verified != 0) {
        snprintf(reason, sizeof reason, "the certificate is refused: %s", ssl.verify_text(verified));
    } else if (error) {
        ssl.error_text(error, reason, sizeof reason);
    } else {
        snprintf(reason, sizeof reason, "the server closed the connection");
    }
    ssl.clear_errors();
    return code == ZERO_RETURN ? TPV_TLS_END : TPV_TLS_FAULT;
}

int tpv_tls_handshake(void *tls) {
    ssl.clear_errors();
    int result = ssl.connect(tls);
    return result == 1 ? TPV_TLS_DONE : failed(tls, result);
}

int64_t tpv_tls_send(void *tls, const uint8_t *bytes, size_t count) {
    ssl.clear_errors();
    int part = count > 1 << 20 ? 1 << 20 : (int)count;
    int result = ssl.write(tls, bytes, part);
    if (result > 0) return result;
    int code = failed(tls, result);
    return code == TPV_TLS_WANTS_READ || code == TPV_TLS_WANTS_WRITE ? 0 : -ECONNRESET;
}

int64_t tpv_tls_receive(void *tls, uint8_t *bytes, size_t capacity) {
    ssl.clear_errors();
    int result = ssl.read(tls, bytes, (int)capacity);
    if (result > 0) return result;
    int code = failed(tls, result);
    if (code == TPV_TLS_WANTS_READ || code == TPV_TLS_WANTS_WRITE) return TPV_AGAIN;
    return code == TPV_TLS_END ? 0 : -ECONNRESET;
}

const char *tpv_tls_fault(void) { return reason; }
