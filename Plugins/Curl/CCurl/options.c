#include "transfer.h"
#include <stdlib.h>
#include <string.h>

// The options of an easy handle that a configuration sets.

// One block of memory holds the nodes, then the texts.
struct curl_slist *tpc_list_create(const char *lines, size_t count) {
    size_t number = 0;
    for (size_t at = 0; at < count; at += strlen(lines + at) + 1) number++;
    if (number == 0) return NULL;
    struct curl_slist *nodes = malloc(number * sizeof *nodes + count);
    if (!nodes) return NULL;
    char *text = (char *)(nodes + number);
    memcpy(text, lines, count);
    for (size_t index = 0; index < number; index++) {
        nodes[index] = (struct curl_slist){text, index + 1 < number ? &nodes[index + 1] : NULL};
        text += strlen(text) + 1;
    }
    return nodes;
}

int tpc_set_number(tpc_transfer *transfer, int option, long value) {
    if (option == TPC_HTTP_VERSION) whole(transfer)->version = value;
    return tpc_curl.easy_setopt(whole(transfer)->easy, option, value);
}

int tpc_set_text(tpc_transfer *transfer, int option, const char *text) {
    if (option == TPC_NO_PROXY) whole(transfer)->proxy.has_exceptions = text && *text;
    return tpc_curl.easy_setopt(whole(transfer)->easy, option, text);
}

int tpc_set_bytes(tpc_transfer *transfer, int option, const void *bytes, size_t count, bool copies) {
    struct curl_blob blob = {(void *)bytes, count, copies ? CURL_BLOB_COPY : CURL_BLOB_NOCOPY};
    return tpc_curl.easy_setopt(whole(transfer)->easy, option, &blob);
}

int tpc_set_overrides(tpc_transfer *transfer, const char *lines, size_t count) {
    transfer_t *this = whole(transfer);
    struct curl_slist *former = this->overrides;
    this->overrides = tpc_list_create(lines, count);
    int code = tpc_curl.easy_setopt(this->easy, CURLOPT_RESOLVE, this->overrides);
    free(former);
    return code;
}
