// SPDX-License-Identifier: Apache-2.0

#include "transfer.h"
#include <stdlib.h>
#include <string.h>

// The options of an easy handle that a configuration sets.

// One block of memory holds the nodes, then the texts. A list without lines is NULL.
int tpc_list_create(struct curl_slist **list, const char *lines, size_t count) {
    *list = NULL;
    size_t number = 0;
    for (size_t at = 0; at < count; at += strlen(lines + at) + 1) number++;
    if (number == 0) return 0;
    struct curl_slist *nodes = malloc(number * sizeof *nodes + count);
    if (!nodes) return CURLE_OUT_OF_MEMORY;
    char *text = (char *)(nodes + number);
    memcpy(text, lines, count);
    for (size_t index = 0; index < number; index++) {
        nodes[index] = (struct curl_slist){text, index + 1 < number ? &nodes[index + 1] : NULL};
        text += strlen(text) + 1;
    }
    *list = nodes;
    return 0;
}

int tpc_set_number(tpc_transfer *transfer, int option, long value) {
    if (option == TPC_HTTP_VERSION) whole(transfer)->version = value;
    return tpc_curl.easy_setopt(whole(transfer)->easy, option, value);
}

int tpc_set_text(tpc_transfer *transfer, int option, const char *text) {
    transfer_t *this = whole(transfer);
    char **kept = option == TPC_NO_PROXY ? &this->proxy.exceptions : option == TPC_UNIX_SOCKET_PATH ? &this->unix_socket : NULL;
    if (kept) {
        free(*kept);
        *kept = text && *text ? strdup(text) : NULL;
        if (text && *text && !*kept) return CURLE_OUT_OF_MEMORY;
    }
    return tpc_curl.easy_setopt(this->easy, option, text);
}

int tpc_set_bytes(tpc_transfer *transfer, int option, const void *bytes, size_t count, bool copies) {
    struct curl_blob blob = {(void *)bytes, count, copies ? CURL_BLOB_COPY : CURL_BLOB_NOCOPY};
    return tpc_curl.easy_setopt(whole(transfer)->easy, option, &blob);
}

int tpc_set_overrides(tpc_transfer *transfer, const char *lines, size_t count) {
    transfer_t *this = whole(transfer);
    struct curl_slist *list;
    int code = tpc_list_create(&list, lines, count);
    if (code == 0) code = tpc_curl.easy_setopt(this->easy, CURLOPT_RESOLVE, list);
    // The handle refers to the list that it was set to last.
    struct curl_slist *unused = code == 0 ? this->overrides : list;
    if (code == 0) this->overrides = list;
    free(unused);
    return code;
}
