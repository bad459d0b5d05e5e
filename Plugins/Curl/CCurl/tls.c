// SPDX-License-Identifier: Apache-2.0

// The reports of libcurl's TLS library, and the check of PEM files by that library. Uses symbols.c.
//
// The functions are those of the OpenSSL or GnuTLS that libcurl itself is linked to. A process may contain several TLS
// libraries, and the check of a file must use the same library as libcurl.

#include "libcurl.h"
#include <string.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <unistd.h>

enum { ERR_REASON = 0xFFF, PEM_NO_START_LINE = 108 };

typedef struct {
    const unsigned char *bytes;
    unsigned count;
} gnutls_datum;

void tpc_find_tls(tpc_library *library) {
    const char *name = tpc_tls_text(library);
    tpc_pem *pem = &library->pem;
    if (strncmp(name, "GnuTLS/", 7) == 0)
        *(void **)&library->gnutls_protocol = tpc_symbol(library->file, "gnutls_alpn_get_selected_protocol");
    if (strncmp(name, "OpenSSL/", 8) != 0) return;
    // At exit, OpenSSL would free memory that the threads of loops still use. OpenSSL ignores this if it is already set up.
    enum { OPENSSL_INIT_NO_ATEXIT = 0x80000 };
    int (*init)(uint64_t, const void *) = NULL;
    *(void **)&init = tpc_symbol(library->file, "OPENSSL_init_crypto");
    if (init) init(OPENSSL_INIT_NO_ATEXIT, NULL);
    *(void **)&library->set_info_callback = tpc_symbol(library->file, "SSL_CTX_set_info_callback");
    *(void **)&library->openssl_protocol = tpc_symbol(library->file, "SSL_get0_alpn_selected");
    const struct {
        const char *name;
        void *function;
    } functions[] = {
        {"BIO_new_mem_buf", &pem->bio_new},      {"BIO_free", &pem->bio_free},
        {"PEM_read_bio_X509_AUX", &pem->read_certificate},
        {"PEM_read_bio_PrivateKey", &pem->read_key},
        {"X509_check_private_key", &pem->check_key},
        {"X509_free", &pem->certificate_free},   {"EVP_PKEY_free", &pem->key_free},
        {"ERR_peek_last_error", &pem->last_error},
        {"ERR_clear_error", &pem->clear_errors},
    };
    pem->is_usable = true;
    for (size_t index = 0; index < sizeof functions / sizeof functions[0]; index++) {
        void *symbol = tpc_symbol(library->file, functions[index].name);
        *(void **)functions[index].function = symbol;
        pem->is_usable &= symbol != NULL;
    }
}

int tpc_memory_file(void) {
#ifdef __linux__
    enum { CLOSE_ON_EXEC = 1 };
    return (int)syscall(SYS_memfd_create, "authorities", CLOSE_ON_EXEC);
#else
    return -1;
#endif
}

bool tpc_pem_can_read(const tpc_library *library) { return library->pem.is_usable; }

// Returns NULL if the text cannot be read completely.
static void *read_certificates(const tpc_pem *pem, const void *bytes, size_t count) {
    void *bio = pem->bio_new(bytes, (int)count), *first = NULL, *next;
    if (!bio) return NULL;
    pem->clear_errors();
    while ((next = pem->read_certificate(bio, NULL, NULL, (void *)""))) {
        if (first) pem->certificate_free(next);
        else first = next;
    }
    bool is_whole = (pem->last_error() & ERR_REASON) == PEM_NO_START_LINE;
    pem->clear_errors();
    pem->bio_free(bio);
    if (is_whole || !first) return first;
    pem->certificate_free(first);
    return NULL;
}

bool tpc_pem_has_certificates(const tpc_library *library, const void *bytes, size_t count) {
    void *first = read_certificates(&library->pem, bytes, count);
    if (first) library->pem.certificate_free(first);
    return first != NULL;
}

bool tpc_pem_fits(const tpc_library *library, const void *certificate, size_t certificate_count, const void *key,
                  size_t key_count, const char *password) {
    const tpc_pem *pem = &library->pem;
    void *first = read_certificates(pem, certificate, certificate_count);
    void *bio = first ? pem->bio_new(key, (int)key_count) : NULL;
    void *own = bio ? pem->read_key(bio, NULL, NULL, (void *)password) : NULL;
    bool fits = own && pem->check_key(first, own) == 1;
    if (own) pem->key_free(own);
    if (bio) pem->bio_free(bio);
    if (first) pem->certificate_free(first);
    pem->clear_errors();
    return fits;
}

const void *tpc_tls_of(const tpc_library *library, CURL *easy) {
    curl_tls_session_info *session = NULL;
    library->easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session);
    return session ? session->internals : NULL;
}

bool tpc_tls_speaks(const tpc_library *library, const void *session, const char *protocol) {
    gnutls_datum name = {0};
    if (session && library->openssl_protocol) library->openssl_protocol(session, &name.bytes, &name.count);
    if (session && library->gnutls_protocol && library->gnutls_protocol(session, &name) != 0) return false;
    return name.count == strlen(protocol) && memcmp(name.bytes, protocol, name.count) == 0;
}

bool tpc_tells_version(const tpc_library *library) { return library->openssl_protocol || library->gnutls_protocol; }

bool tpc_has_openssl(const tpc_library *library) { return library->openssl_protocol != NULL; }
