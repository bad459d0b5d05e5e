// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stdbool.h>
#include <stddef.h>

// PEM, read by the OpenSSL that libcurl uses.

/// Returns whether PEM can be read, and libcurl takes it from memory.
bool tpc_pem_can_read(void);
/// Returns whether bytes are certificates, each of them whole.
bool tpc_pem_has_certificates(const void *bytes, size_t count);
/// Returns whether bytes are certificates, and others the private key of the first one.
bool tpc_pem_fits(const void *certificate, size_t certificate_count, const void *key, size_t key_count,
                  const char *password);
