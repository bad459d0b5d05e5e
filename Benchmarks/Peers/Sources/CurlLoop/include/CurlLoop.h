// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stdint.h>

// Requests with libcurl's multi interface alone: the upper limit for any client that uses libcurl.

typedef struct curl_loop curl_loop;

typedef struct curl_loop_job {
    const char *url;
    /// A file with the trusted certificates; NULL for plain HTTP.
    const char *authority;
    int concurrency;
    /// The number of content bytes to send; 0 for GET.
    long post_bytes;
    /// The number of content bytes expected in each response.
    int64_t expected;
} curl_loop_job;

typedef struct curl_loop_result {
    /// The number of completed requests.
    long count;
    /// The latencies in microseconds of the first `latency_count` requests.
    const double *latencies;
    long latency_count;
    /// The error, or NULL.
    const char *fault;
} curl_loop_result;

/// Loads libcurl and creates a loop with its handles; returns NULL if libcurl is not installed.
curl_loop *curl_loop_create(const curl_loop_job *job);

/// Sends the requests of a job until the time is over. If `count` is not 0, sends that number of requests instead.
///
/// Connections stay open between runs. The pointers in the result are valid until the next run.
curl_loop_result curl_loop_run(curl_loop *loop, double seconds, long count);
