// SPDX-License-Identifier: Apache-2.0

#include "transfer.h"

// What libcurl tells of a transfer when it is asked.

int64_t tpc_transfer_length(tpc_transfer *transfer) {
    int64_t length = -1;
    tpc_curl.easy_getinfo(whole(transfer)->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    return length;
}

bool tpc_transfer_was_cut(tpc_transfer *transfer) {
    transfer_t *this = whole(transfer);
    return tpc_report_close_notify && this->connection.session && !this->connection.has_close_notify;
}

void tpc_transfer_times(tpc_transfer *transfer, tpc_times *times) {
    CURL *easy = whole(transfer)->easy;
    *times = (tpc_times){.is_reused = tpc_transfer_connects(transfer) == 0};
    if (!times->is_reused) {
        tpc_curl.easy_getinfo(easy, CURLINFO_NAMELOOKUP_TIME_T, &times->lookup);
        tpc_curl.easy_getinfo(easy, CURLINFO_CONNECT_TIME_T, &times->connect);
        tpc_curl.easy_getinfo(easy, CURLINFO_APPCONNECT_TIME_T, &times->handshake);
    }
    // Some versions report these times also for what was never sent.
    if (transfer->sends > 0) {
        tpc_curl.easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &times->ready);
        tpc_curl.easy_getinfo(easy, CURLINFO_STARTTRANSFER_TIME_T, &times->first_byte);
    }
    tpc_curl.easy_getinfo(easy, CURLINFO_PRIMARY_IP, &times->peer);
}

static long number(tpc_transfer *transfer, int info) {
    long value = 0;
    tpc_curl.easy_getinfo(whole(transfer)->easy, info, &value);
    return value;
}

bool tpc_transfer_had_place(tpc_transfer *transfer) {
    return whole(transfer)->has_resolved || tpc_transfer_connects(transfer) > 0;
}

long tpc_transfer_connects(tpc_transfer *transfer) { return number(transfer, CURLINFO_NUM_CONNECTS); }
long tpc_transfer_connect_status(tpc_transfer *transfer) { return number(transfer, CURLINFO_HTTP_CONNECTCODE); }
long tpc_transfer_proxy_error(tpc_transfer *transfer) { return number(transfer, CURLINFO_PROXY_ERROR); }
