// SPDX-License-Identifier: Apache-2.0

#include "libcurl.h"
#include <dlfcn.h>

// Reads PEM with the OpenSSL that libcurl itself was linked to, so that both accept the same files.

enum { ERR_REASON = 0xFFF, PEM_NO_START_LINE = 108 };

static struct {
    void *(*bio_new)(const void *bytes, int count);
    int (*bio_free)(void *bio);
    void *(*read_certificate)(void *bio, void **, void *, void *);
    void *(*read_key)(void *bio, void **, void *, void *password);
    int (*check_key)(void *certificate, void *key);
    void (*certificate_free)(void *);
    void (*key_free)(void *);
    unsigned long (*last_error)(void);
    void (*clear_errors)(void);
} ssl;

static bool is_loaded;

void tpc_pem_load(void *libcurl) {
    const struct {
        const char *name;
        void *function;
    } functions[] = {
        {"BIO_new_mem_buf", &ssl.bio_new},      {"BIO_free", &ssl.bio_free},
        {"PEM_read_bio_X509_AUX", &ssl.read_certificate},
        {"PEM_read_bio_PrivateKey", &ssl.read_key},
        {"X509_check_private_key", &ssl.check_key},
        {"X509_free", &ssl.certificate_free},   {"EVP_PKEY_free", &ssl.key_free},
        {"ERR_peek_last_error", &ssl.last_error},
        {"ERR_clear_error", &ssl.clear_errors},
    };
    is_loaded = true;
    for (size_t index = 0; index < sizeof functions / sizeof functions[0]; index++) {
        void *symbol = dlsym(libcurl, functions[index].name);
        *(void **)functions[index].function = symbol;
        is_loaded &= symbol != NULL;
    }
}

bool tpc_pem_can_read(void) { return is_loaded; }

// Returns the first certificate if all of them can be read to the end, else NULL.
static void *read_certificates(const void *bytes, size_t count) {
    void *bio = ssl.bio_new(bytes, (int)count), *first = NULL, *next;
    if (!bio) return NULL;
    ssl.clear_errors();
    while ((next = ssl.read_certificate(bio, NULL, NULL, (void *)""))) {
        if (first) ssl.certificate_free(next);
        else first = next;
    }
    bool is_whole = (ssl.last_error() & ERR_REASON) == PEM_NO_START_LINE;
    ssl.clear_errors();
    ssl.bio_free(bio);
    if (is_whole || !first) return first;
    ssl.certificate_free(first);
    return NULL;
}

bool tpc_pem_has_certificates(const void *bytes, size_t count) {
    void *first = read_certificates(bytes, count);
    if (first) ssl.certificate_free(first);
    return first != NULL;
}

bool tpc_pem_fits(const void *certificate, size_t certificate_count, const void *key, size_t key_count,
                  const char *password) {
    void *first = read_certificates(certificate, certificate_count);
    void *bio = first ? ssl.bio_new(key, (int)key_count) : NULL;
    void *own = bio ? ssl.read_key(bio, NULL, NULL, (void *)password) : NULL;
    bool fits = own && ssl.check_key(first, own) == 1;
    if (own) ssl.key_free(own);
    if (bio) ssl.bio_free(bio);
    if (first) ssl.certificate_free(first);
    ssl.clear_errors();
    return fits;
}
