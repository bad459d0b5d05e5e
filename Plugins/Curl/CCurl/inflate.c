#include "CTurnpikeCurl.h"
#include <dlfcn.h>
#include <stdlib.h>

// zlib's stream, by hand like libcurl's interface; unchanged since 1.0.
typedef struct {
    const uint8_t *next_in;
    unsigned avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state;
    void *(*zalloc)(void *, unsigned, unsigned);
    void (*zfree)(void *, void *);
    void *opaque;
    int data_type;
    unsigned long adler;
    unsigned long reserved;
} stream_t;

enum { Z_OK = 0, Z_STREAM_END = 1, Z_BUF_ERROR = -5, WINDOW_BITS = 15, WITH_GZIP_HEADER = 16 };

static int (*init)(stream_t *, int bits, const char *version, int size);
static int (*inflate)(stream_t *, int flush);
static int (*reset)(stream_t *);
static int (*end)(stream_t *);

bool tpc_zlib_load(void) {
#if defined(__APPLE__)
    void *library = dlopen("/usr/lib/libz.1.dylib", RTLD_NOW | RTLD_LOCAL);
#else
    void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
#endif
    if (!library) return false;
    *(void **)&init = dlsym(library, "inflateInit2_");
    *(void **)&inflate = dlsym(library, "inflate");
    *(void **)&reset = dlsym(library, "inflateReset");
    *(void **)&end = dlsym(library, "inflateEnd");
    return init && inflate && reset && end;
}

struct tpc_inflater {
    stream_t stream;
    bool is_gzip;
    bool is_ready;
    bool has_ended;
    uint8_t start[2];
    int start_count;
};

static bool prepare(tpc_inflater *this, int bits) {
    this->is_ready = init(&this->stream, bits, "1.2.11", (int)sizeof(stream_t)) == Z_OK;
    return this->is_ready;
}

tpc_inflater *tpc_inflater_create(bool is_gzip) {
    tpc_inflater *this = calloc(1, sizeof *this);
    if (!this) return NULL;
    this->is_gzip = is_gzip;
    if (is_gzip && !prepare(this, WINDOW_BITS + WITH_GZIP_HEADER)) {
        free(this);
        return NULL;
    }
    return this;
}

void tpc_inflater_free(tpc_inflater *this) {
    if (this->is_ready) end(&this->stream);
    free(this);
}

// "deflate" is zlib's format (RFC 9110 §8.4.1.2), but some servers send it without zlib's two bytes in front.
static bool decide(tpc_inflater *this) {
    int start = this->start[0] << 8 | this->start[1];
    bool is_zlib = (this->start[0] & 15) == 8 && start % 31 == 0;
    return prepare(this, is_zlib ? WINDOW_BITS : -WINDOW_BITS);
}

static int run(tpc_inflater *this, const uint8_t *input, size_t count, size_t *consumed, uint8_t *output, size_t room,
               size_t *produced) {
    stream_t *stream = &this->stream;
    unsigned take = count > 0x40000000 ? 0x40000000 : (unsigned)count;
    unsigned give = room > 0x40000000 ? 0x40000000 : (unsigned)room;
    stream->next_in = input;
    stream->avail_in = take;
    stream->next_out = output;
    stream->avail_out = give;
    int code = inflate(stream, 0);
    *consumed = take - stream->avail_in;
    *produced = give - stream->avail_out;
    return code;
}

int tpc_inflater_run(tpc_inflater *this, const uint8_t *input, size_t count, size_t *consumed, uint8_t *output,
                     size_t room, size_t *produced) {
    *consumed = *produced = 0;
    while (this->start_count < 2 && !this->is_gzip) {
        if (*consumed == count) return TPC_INFLATE_GOES_ON;
        this->start[this->start_count++] = input[(*consumed)++];
        if (this->start_count < 2) continue;
        size_t fed = 0;
        if (!decide(this)) return TPC_INFLATE_CORRUPT;
        int code = run(this, this->start, 2, &fed, output, room, produced);
        if (code == Z_STREAM_END) this->has_ended = true;
        else if (code != Z_OK && code != Z_BUF_ERROR) return TPC_INFLATE_CORRUPT;
    }
    // Without input too: output that found no room waits inside zlib.
    for (bool is_first = true; is_first || *consumed < count; is_first = false) {
        if (this->has_ended) {
            if (*consumed == count) break;
            // Several members are one content (RFC 1952 §2.2); anything else behind the end is nothing.
            if (!this->is_gzip || input[*consumed] != 0x1F) {
                *consumed = count;
                break;
            }
            if (reset(&this->stream) != Z_OK) return TPC_INFLATE_CORRUPT;
            this->has_ended = false;
        }
        if (*produced == room) break;
        size_t fed = 0, made = 0;
        int code = run(this, input + *consumed, count - *consumed, &fed, output + *produced, room - *produced, &made);
        *consumed += fed;
        *produced += made;
        if (code == Z_STREAM_END) this->has_ended = true;
        else if (code == Z_BUF_ERROR) break;
        else if (code != Z_OK) return TPC_INFLATE_CORRUPT;
    }
    return this->has_ended ? TPC_INFLATE_ENDED : TPC_INFLATE_GOES_ON;
}
