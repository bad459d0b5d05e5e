// SPDX-License-Identifier: Apache-2.0

#ifndef CHIREDISPEER_H
#define CHIREDISPEER_H

/// Loads libhiredis; zero if it is not installed.
int hiredis_peer_load(void);

/// Gets a key again and again, as a program of libhiredis does.
/// - Parameters: the port of a server on 127.0.0.1, the key, how often, and how many commands are sent
///   before their replies are read.
/// - Returns: Nanoseconds for each; a negative number if it fails or if a reply is no text.
double hiredis_peer_get(int port, const char *key, int count, int depth);

/// Lets the allocator keep up to 64 MiB of freed memory (glibc).
void hiredis_peer_keep_memory(void);

#endif
