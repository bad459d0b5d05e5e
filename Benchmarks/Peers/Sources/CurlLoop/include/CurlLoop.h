#pragma once

#include <stdint.h>

// Requests by libcurl's multi interface and nothing else: the most that a client over libcurl can reach.

/// Keeps `concurrency` requests under way until the time is up.
///
/// Gives the number of requests, or a negative number on failure. `latencies` gets the first `room` of them, in
/// microseconds; `bytes` counts content.
long curl_loop_run(const char *url, const char *authority, int concurrency, double seconds, long post_bytes, long count,
                   double *latencies, long room, int64_t *bytes);
