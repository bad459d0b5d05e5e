#include "curl.h"
#include <stdlib.h>
#include <string.h>

// What libcurl finds in the text of a URL, and prints anew, for each request: a seventh of all instructions of a small one.
// The parts of the last URL are kept instead, and of another one for the same origin only the path and the query are new.
struct tpc_target {
    CURLU *parts;
    char *url;
    size_t capacity;
    // How much of it is the scheme and the authority; 0 where nothing is known of it.
    size_t origin;
};

tpc_target *tpc_target_create(void) {
    tpc_target *this = calloc(1, sizeof *this);
    if (this && (this->parts = tpc_curl.url())) return this;
    free(this);
    return NULL;
}

void tpc_target_free(tpc_target *this) {
    if (!this) return;
    tpc_curl.url_cleanup(this->parts);
    free(this->url);
    free(this);
}

// The length of the scheme and the authority; 0 where libcurl has more to do there than to copy (a user, a zone), or where no
// path follows.
static size_t origin_of(const char *url) {
    const char *slashes = strstr(url, "://");
    if (!slashes) return 0;
    const char *authority = slashes + 3;
    size_t length = strcspn(authority, "/?#[@%");
    return authority[length] == '/' ? (size_t)(authority + length - url) : 0;
}

// libcurl changes the case of an escape that it gets in a part, and drops an empty query.
static bool is_plain(const char *path) {
    if (strpbrk(path, "%#")) return false;
    const char *mark = strchr(path, '?');
    return !mark || mark[1];
}

static bool keep(tpc_target *this, const char *url, size_t length) {
    if (length >= this->capacity) {
        char *larger = realloc(this->url, 2 * length + 1);
        if (!larger) return false;
        this->url = larger;
        this->capacity = 2 * length + 1;
    }
    memcpy(this->url, url, length + 1);
    return true;
}

static int set_path(tpc_target *this, char *path) {
    char *mark = strchr(path, '?');
    if (mark) *mark = 0;
    int code = tpc_curl.url_set(this->parts, CURLUPART_PATH, path, 0);
    if (mark) *mark = '?';
    return code ? code : tpc_curl.url_set(this->parts, CURLUPART_QUERY, mark ? mark + 1 : NULL, 0);
}

// A proxy gets the URL, and is the one that makes the asterisk of it, if it is the last (RFC 9112 §3.2.4).
static char *asterisk(const char *url, size_t length, size_t *path) {
    char *exact = malloc(length + sizeof "\0*");
    if (!exact) return NULL;
    memcpy(exact, url, length + 1);
    memcpy(exact + length + 1, "*", 2);
    *path = length + 1;
    return exact;
}

// 8.14 drops an empty query, and to proxies 8.5 does; 8.23 writes the digits of all escapes in capitals.
char *tpc_target_exact(const char *url, bool asks_server, size_t *path) {
    const char *slashes = strstr(url, "://");
    if (!slashes) return NULL;
    size_t start = (size_t)(slashes + 3 - url), length = strlen(url);
    if (asks_server) return asterisk(url, length, path);
    start += strcspn(url + start, "/?#");
    if (is_plain(url + start)) return NULL;
    // A path is at least a slash.
    bool is_short = url[start] != '/';
    char *exact = malloc(length + is_short + 1);
    if (!exact) return NULL;
    memcpy(exact, url, start);
    exact[start] = '/';
    memcpy(exact + start + is_short, url + start, length - start + 1);
    *path = start;
    return exact;
}

CURLU *tpc_target_parts(tpc_target *this, const char *url) {
    size_t length = strlen(url), known = this->origin;
    if (known && strcmp(this->url, url) == 0) return this->parts;
    size_t origin = origin_of(url);
    if (!origin) return NULL;
    bool is_same = origin == known && memcmp(this->url, url, origin) == 0 && is_plain(url + origin);
    this->origin = 0;
    if (!keep(this, url, length)) return NULL;
    int code = is_same ? set_path(this, this->url + origin)
                       : tpc_curl.url_set(this->parts, CURLUPART_URL, url, CURLU_PATH_AS_IS | CURLU_DISALLOW_USER);
    if (code) return NULL;
    this->origin = origin;
    return this->parts;
}
