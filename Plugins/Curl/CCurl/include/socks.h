// SPDX-License-Identifier: Apache-2.0

#pragma once

// The errors of SOCKS proxies (RFC 1928 §6), by libcurl's codes (`CURLproxycode`).

enum {
    TPC_SOCKS_NO_METHOD = 12,
    TPC_SOCKS_NO_ADDRESS_TYPE = 17,
    TPC_SOCKS_NO_COMMAND = 18,
    TPC_SOCKS_REFUSED = 19,
    TPC_SOCKS_FAILED = 20,
    TPC_SOCKS_NO_HOST = 21,
    TPC_SOCKS_NO_NETWORK = 22,
    TPC_SOCKS_NOT_ALLOWED = 23,
    TPC_SOCKS_EXPIRED = 24,
    TPC_SOCKS_USER_REJECTED = 33,
};
