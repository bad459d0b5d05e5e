#pragma once

#include <stdint.h>

// Requests by libcurl's multi interface and nothing else: the most that a client over libcurl can reach.

typedef struct curl_loop curl_loop;

typedef struct curl_loop_job {
    const char *url;
    /// A file with the certificates that are trusted; NULL over plain HTTP.
    const char *authority;
    int concurrency;
    /// The bytes of content that are sent; 0 for GET.
    long post_bytes;
    /// The bytes of content that must come back, by each request.
    int64_t expected;
} curl_loop_job;

typedef struct curl_loop_result {
    /// The requests that came to their end.
    long count;
    /// Their times in microseconds, of the first `count` or as many as there was room for.
    const double *latencies;
    long latency_count;
    /// NULL, or what went wrong.
    const char *fault;
} curl_loop_result;

/// Finds libcurl and makes a loop with its handles; NULL where there is no libcurl.
curl_loop *curl_loop_create(const curl_loop_job *job);

/// Keeps the job's requests under way until the time is up, or `count` were begun where that is not 0.
///
/// Connections stay open from one run to the next. What the result points to is valid until then.
curl_loop_result curl_loop_run(curl_loop *loop, double seconds, long count);
