// SPDX-License-Identifier: Apache-2.0

#include "transfer.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

// Where the connection of a request goes, if the request itself says something of that, and which addresses it may go to.
//
// libcurl shares a connection between requests only if all of these are the same: scheme, host and port of the URL, host and port
// of CURLOPT_CONNECT_TO (or neither has any), and the path of the Unix socket (or neither has one).
//
// For its limit of connections to a host, however, it counts them by the URL's port and the host alone that it connects to, so one
// endpoint would use up the limit of another one at the same address. The scope of IPv6 addresses (CURLOPT_ADDRESS_SCOPE) is a part
// of that key, too. It means nothing for IPv4 addresses and Unix sockets, so there it sets the endpoints apart.
//
// 7.88 also remembers by that key whether a server speaks HTTP/2: if one endpoint does, it takes the busy HTTP/1 connection of
// another request to its neighbour for one to be shared, and a request gets the response of another. So with a libcurl whose HTTP/2
// is not sound, requests with an endpoint that is a host go out by HTTP/1.1, which shares no connection.

int tpc_set_route(transfer_t *this, const tpc_request *request) {
    int (*set)(CURL *, int, ...) = tpc_curl.easy_setopt;
    this->changed |= CHANGED_ROUTE;
    int code = 0;
    if (request->connect_to) {
        code = tpc_list_create(&this->request.connect_to, request->connect_to, strlen(request->connect_to) + 1);
        if (code == 0) code = set(this->easy, CURLOPT_CONNECT_TO, this->request.connect_to);
    }
    if (code == 0 && (request->unix_socket || (request->connect_to && this->unix_socket)))
        code = set(this->easy, TPC_UNIX_SOCKET_PATH, request->unix_socket);
    // A libcurl without IPv6 does not know it, and needs it for nothing but its limit.
    if (code == 0 && request->scope) set(this->easy, CURLOPT_ADDRESS_SCOPE, (long)request->scope);
    if (code == 0 && request->traits & TPC_PROXIED) code = set(this->easy, TPC_NO_PROXY, "");
    return code;
}

void tpc_unset_route(transfer_t *this) {
    int (*set)(CURL *, int, ...) = tpc_curl.easy_setopt;
    set(this->easy, CURLOPT_CONNECT_TO, NULL);
    set(this->easy, TPC_UNIX_SOCKET_PATH, this->unix_socket);
    set(this->easy, CURLOPT_ADDRESS_SCOPE, 0L);
    set(this->easy, TPC_NO_PROXY, this->proxy.exceptions ? this->proxy.exceptions : "");
    free(this->request.connect_to);
    this->request.connect_to = NULL;
}

// MARK: Addresses.

bool tpc_transfer_allows(tpc_transfer *transfer, const struct sockaddr *address) {
    transfer_t *this = whole(transfer);
    if (!(this->request.traits & TPC_JUDGED)) return true;
    bool is_allowed = false;
    if (address->sa_family == AF_INET) {
        const struct in_addr *four = &((const struct sockaddr_in *)address)->sin_addr;
        is_allowed = this->judge(transfer->owner, (const unsigned char *)four, sizeof *four);
    } else if (address->sa_family == AF_INET6) {
        const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;
        is_allowed = this->judge(transfer->owner, (const unsigned char *)six, sizeof *six);
    }
    if (is_allowed) this->request.has_opened = true;
    else this->request.has_refused = true;
    return is_allowed;
}

// An address that cannot be read is refused.
bool tpc_allows_peer(transfer_t *this, const char *peer) {
    unsigned char address[sizeof(struct in6_addr)];
    size_t count = 0;
    if (peer && inet_pton(AF_INET, peer, address) == 1) count = sizeof(struct in_addr);
    else if (peer && inet_pton(AF_INET6, peer, address) == 1) count = sizeof(struct in6_addr);
    if (count > 0 && this->judge(this->shown.owner, address, count)) return true;
    this->shown.cause = TPC_CAUSE_ADDRESS;
    return false;
}
