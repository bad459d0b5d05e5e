// SPDX-License-Identifier: Apache-2.0

#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Sockets -------------------------------------------------------------------------------------------------------------

enum { TPV_ADDRESS_SIZE = 128 };

typedef struct tpv_address {
    uint32_t size;
    uint8_t bytes[TPV_ADDRESS_SIZE];
} tpv_address;

/// Looks up a host, which may take long unless `is_numeric` is true. A path begins with `/`. Returns the number of addresses,
/// or -1.
int tpv_resolve(const char *host, uint16_t port, bool is_numeric, tpv_address *addresses, int capacity,
                const char **reason);

/// Begins to connect. Returns a descriptor, or -errno.
int tpv_connect(const tpv_address *address);
/// Returns 0 after a successful connect, or errno.
int tpv_connect_error(int fd);
/// Sends bytes. Returns the number of sent bytes, 0 if no byte can be sent now, or -errno.
int64_t tpv_send(int fd, const uint8_t *bytes, size_t count);
/// Reads bytes. Returns the number of read bytes, 0 at the end, or -errno, with `TPV_AGAIN` for -EAGAIN.
int64_t tpv_receive(int fd, uint8_t *bytes, size_t capacity);
enum { TPV_AGAIN = -1000000 };
void tpv_close(int fd);
/// Ends both directions. The descriptor stays open.
void tpv_shutdown(int fd);

// TLS -----------------------------------------------------------------------------------------------------------------

enum { TPV_TLS_DONE = 0, TPV_TLS_WANTS_READ, TPV_TLS_WANTS_WRITE, TPV_TLS_END, TPV_TLS_FAULT };

/// Loads the libssl of OpenSSL from a file, or from the usual files. Returns NULL, or the reason of a failure.
const char *tpv_tls_load(const char *file);
/// Reads the certificates of a file or of the system. Returns NULL if the certificates cannot be read.
void *tpv_tls_context_create(const char *authorities);
void tpv_tls_context_free(void *context);
/// Creates a TLS connection on a socket, for the certificate of a host.
void *tpv_tls_create(void *context, int fd, const char *host);
void tpv_tls_free(void *tls);
int tpv_tls_handshake(void *tls);
/// These functions are like `tpv_send` and `tpv_receive`. One thread at a time may call these functions.
int64_t tpv_tls_send(void *tls, const uint8_t *bytes, size_t count);
int64_t tpv_tls_receive(void *tls, uint8_t *bytes, size_t capacity);
/// The last failure on this thread.
const char *tpv_tls_fault(void);

// Waiting -------------------------------------------------------------------------------------------------------------

typedef struct tpv_poll {
    int fd;
    bool wants_write;
    bool is_readable;
    bool is_writable;
} tpv_poll;

typedef struct tpv_poller tpv_poller;

tpv_poller *tpv_poller_create(void);
void tpv_poller_free(tpv_poller *poller);
/// Waits for sockets, a wake-up or the alarm. If `sleeps` is false, the function only checks for events and returns at once.
void tpv_poller_wait(tpv_poller *poller, tpv_poll *polls, size_t count, bool sleeps);
/// Ends a wait. Any thread may call this function.
void tpv_poller_wake(tpv_poller *poller);
/// Sets the time at which a wait ends, or INT64_MAX for never. The caller must prevent overlapping calls.
void tpv_poller_set_alarm(tpv_poller *poller, int64_t nanoseconds);
/// The clock of alarms, in nanoseconds.
int64_t tpv_now(void);
/// Names the current thread, and blocks SIGPIPE on this thread.
void tpv_enter_thread(const char *name);
/// Sets whether this thread does the poller's work between two waits.
void tpv_poller_set_turn(const tpv_poller *poller, bool is_turn);
bool tpv_poller_is_turn(const tpv_poller *poller);
