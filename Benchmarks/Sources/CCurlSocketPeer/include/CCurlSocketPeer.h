// SPDX-License-Identifier: Apache-2.0

/// Echoes messages over sockets of libcurl (CURLOPT_CONNECT_ONLY) in a minimal loop in C, for comparison. It writes the handshake
/// and frames of up to 125 bytes, checks nothing, and counts the bytes that come back.
///
/// Returns the number of messages that came back, or -1. `elapsed` is set to the time in seconds.
long curl_socket_peer_run(
    const char *url, const char *handshake, int sockets, int batch, int bytes, double seconds, double *elapsed);
