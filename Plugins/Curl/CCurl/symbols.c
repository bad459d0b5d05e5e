// SPDX-License-Identifier: Apache-2.0

// Finds the functions of libcurl and of its TLS library in a file that is loaded at run time, or in the program itself. Uses no
// other file.

#include "libcurl.h"

#if !defined(TPC_LINKED)
#include <dlfcn.h>

void *tpc_open(const char *name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }

void *tpc_symbol(void *file, const char *name) { return dlsym(file, name); }
#else
#include <string.h>

#define DECLARE(name, result, arguments) result curl_##name arguments;
TPC_FUNCTIONS(DECLARE)

// The functions of OpenSSL, whose types are only in `tpc_library`.
#define TLS_FUNCTIONS(F) \
    F(SSL_CTX_set_info_callback) F(SSL_get0_alpn_selected) F(BIO_new_mem_buf) F(BIO_free) F(PEM_read_bio_X509_AUX) \
    F(PEM_read_bio_PrivateKey) F(X509_check_private_key) F(X509_free) F(EVP_PKEY_free) F(ERR_peek_last_error) \
    F(ERR_clear_error) F(OPENSSL_init_crypto)
#define DECLARE_TLS(name) void name(void);
TLS_FUNCTIONS(DECLARE_TLS)

typedef struct {
    const char *name;
    void *function;
} symbol_t;

static symbol_t linked[] = {
#define ENTRY(name, result, arguments) {"curl_" #name, (void *)curl_##name},
    TPC_FUNCTIONS(ENTRY)
#define ENTRY_TLS(name) {#name, (void *)name},
    TLS_FUNCTIONS(ENTRY_TLS)
    {NULL, NULL},
};

void *tpc_open(const char *name) { return strcmp(name, "linked") == 0 ? linked : NULL; }

void *tpc_symbol(void *file, const char *name) {
    for (symbol_t *symbol = file; symbol->name; symbol++) {
        if (strcmp(symbol->name, name) == 0) return symbol->function;
    }
    return NULL;
}
#endif
