// SPDX-License-Identifier: Apache-2.0

#ifndef CHIREDISPEER_H
#define CHIREDISPEER_H

/// Loads libhiredis. Returns zero if it is not installed.
int hiredis_peer_load(void);

/// Gets a key repeatedly, as a program with libhiredis does.
/// - Parameters: the port of a server on 127.0.0.1, the key, the number of commands, and how many of them are sent before their
/// replies are read.
/// - Returns: The nanoseconds per command. A negative number if a command fails or a reply is not a string.
double hiredis_peer_get(int port, const char *key, int count, int depth);

/// Lets the allocator keep up to 64 MiB of freed memory (glibc).
void hiredis_peer_keep_memory(void);

#endif
