// SPDX-License-Identifier: Apache-2.0

#include "CTurnpikeValkey.h"
#include "hiredis.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// libhiredis 0.14 reads up to nine levels.
enum { MOST_DEPTH = 9, MOST_LINE = 64 << 10, MOST_NUMBER = 32 };

// Checks bytes before the library stores them. The library itself would wait for any announced length, and would search a line
// from its beginning each time that a part of it comes.
typedef struct guard {
    enum { AT_TYPE, IN_LINE, IN_BYTES } place;
    char type;
    char number[MOST_NUMBER];
    size_t line;
    bool is_ending;
    size_t left;
} guard;

struct tpv_reader {
    hiredis_reader *reader;
    tpv_reader_limits limits;
    guard guard;
    // The bytes since the last complete reply.
    size_t pending;

    tpv_item *items;
    size_t count, capacity;
    uint8_t *bytes;
    size_t size, room;
    // The number of elements that each open array still needs.
    uint64_t open[MOST_DEPTH];
    unsigned depth;
    // The reply is complete; the next value begins another reply.
    bool is_whole;
    char fault[192];
};

// The reader whose library calls the object functions. The library's own pointer is at different places in different versions.
static _Thread_local tpv_reader *current;

static void *fail(tpv_reader *reader, const char *fault) {
    if (!*reader->fault) snprintf(reader->fault, sizeof reader->fault, "%s", fault);
    return NULL;
}

static void *add(int type, int64_t number, const char *bytes, size_t count) {
    tpv_reader *reader = current;
    if (!reader || *reader->fault) return NULL;
    if (reader->is_whole) return fail(reader, "a value came after the end of a reply");
    if (reader->count >= reader->limits.items) return fail(reader, "a reply has too many values");
    if (count > reader->limits.bytes - reader->size) return fail(reader, "a reply has too many bytes");
    if (reader->count == reader->capacity) {
        size_t capacity = reader->capacity ? reader->capacity * 2 : 16;
        tpv_item *items = realloc(reader->items, capacity * sizeof *items);
        if (!items) return fail(reader, "there is no memory for a reply");
        reader->items = items;
        reader->capacity = capacity;
    }
    if (count > reader->room - reader->size) {
        size_t room = reader->size + count;
        room = room < 256 ? 256 : room + room / 2;
        uint8_t *grown = realloc(reader->bytes, room);
        if (!grown) return fail(reader, "there is no memory for a reply");
        reader->bytes = grown;
        reader->room = room;
    }
    reader->items[reader->count++] = (tpv_item){type, number, reader->size};
    if (count) memcpy(reader->bytes + reader->size, bytes, count);
    reader->size += count;
    // The value is an element of the innermost array. A complete array is an element of the next outer array.
    if (type == TPV_ARRAY && number > 0) {
        if (reader->depth >= reader->limits.depth) return fail(reader, "a reply has too many levels of arrays");
        reader->open[reader->depth++] = (uint64_t)number;
        return reader;
    }
    while (reader->depth && --reader->open[reader->depth - 1] == 0) reader->depth--;
    if (!reader->depth) reader->is_whole = true;
    return reader;
}

static void *create_string(const hiredis_task *task, char *bytes, size_t count) {
    switch (task->type) {
    case REPLY_STRING: return add(TPV_BYTES, (int64_t)count, bytes, count);
    case REPLY_STATUS: return add(TPV_STATUS, (int64_t)count, bytes, count);
    case REPLY_ERROR: return add(TPV_ERROR, (int64_t)count, bytes, count);
    default: return current ? fail(current, "a value has an unexpected type") : NULL;
    }
}

static void *create_array(const hiredis_task *task, size_t count) {
    tpv_reader *reader = current;
    if (!reader) return NULL;
    if (task->type != REPLY_ARRAY) return fail(reader, "a value has an unexpected type");
    if (count > reader->limits.items) return fail(reader, "a reply has too many values");
    return add(TPV_ARRAY, (int64_t)count, NULL, 0);
}

static void *create_array_0(const hiredis_task *task, int count) {
    if (count < 0) return current ? fail(current, "an array has a negative size") : NULL;
    return create_array(task, (size_t)count);
}

static void *create_integer(const hiredis_task *task, long long number) {
    (void)task;
    return add(TPV_INTEGER, number, NULL, 0);
}

static void *create_nil(const hiredis_task *task) {
    (void)task;
    return add(TPV_NULL, 0, NULL, 0);
}

static void *create_double(const hiredis_task *task, double number, char *bytes, size_t count) {
    (void)task, (void)number, (void)bytes, (void)count;
    return current ? fail(current, "a value has an unexpected type") : NULL;
}

static void *create_bool(const hiredis_task *task, int value) {
    (void)task, (void)value;
    return current ? fail(current, "a value has an unexpected type") : NULL;
}

static void free_object(void *object) { (void)object; }

static hiredis_functions_0 functions_0 = {create_string, create_array_0, create_integer, create_nil, free_object};
static hiredis_functions_1 functions_1 = {create_string, create_array, create_integer, create_double,
                                          create_nil,    create_bool,  free_object};

tpv_reader *tpv_reader_create(tpv_reader_limits limits) {
    tpv_reader *reader = calloc(1, sizeof *reader);
    if (!reader) return NULL;
    if (limits.depth > MOST_DEPTH) limits.depth = MOST_DEPTH;
    reader->limits = limits;
    void *functions = tpv_hiredis.is_one ? (void *)&functions_1 : (void *)&functions_0;
    reader->reader = tpv_hiredis.reader_create(functions);
    if (!reader->reader) {
        free(reader);
        return NULL;
    }
    return reader;
}

void tpv_reader_free(tpv_reader *reader) {
    if (!reader) return;
    tpv_hiredis.reader_free(reader->reader);
    free(reader->items);
    free(reader->bytes);
    free(reader);
}

// A line has ended. After the line of a bulk string, its bytes and two more follow.
static bool end_line(tpv_reader *reader) {
    guard *g = &reader->guard;
    g->place = AT_TYPE;
    if (g->type != '$') return true;
    size_t length = 0;
    if (g->line < MOST_NUMBER) g->number[g->line] = 0;
    if (g->number[0] == '-') return true;  // The library checks that it is -1.
    for (size_t index = 0; index < g->line; index++) {
        char digit = g->number[index];
        if (digit < '0' || digit > '9') return fail(reader, "the length of a value is not a number");
        length = length * 10 + (size_t)(digit - '0');
        if (length > reader->limits.bytes) return fail(reader, "a reply has too many bytes");
    }
    g->place = IN_BYTES;
    g->left = length + 2;
    return true;
}

static bool check(tpv_reader *reader, const uint8_t *bytes, size_t count) {
    guard *g = &reader->guard;
    const uint8_t *end = bytes + count;
    while (bytes < end) {
        switch (g->place) {
        case AT_TYPE:
            g->type = (char)*bytes++;
            if (!strchr("+-:$*", g->type) || !g->type) return fail(reader, "a value has an unknown type");
            g->place = IN_LINE;
            g->line = 0;
            g->is_ending = false;
            break;
        case IN_LINE: {
            if (g->is_ending && *bytes == '\n') {
                bytes++;
                if (!end_line(reader)) return false;
                break;
            }
            // A lone carriage return is part of the line.
            if (g->is_ending) g->line++;
            g->is_ending = *bytes == '\r';
            if (!g->is_ending) {
                if (g->line < MOST_NUMBER) g->number[g->line] = (char)*bytes;
                g->line++;
            }
            bytes++;
            bool is_text = g->type == '+' || g->type == '-';
            if (g->line >= (is_text ? (size_t)MOST_LINE : (size_t)MOST_NUMBER)) {
                return fail(reader, is_text ? "a line is too long" : "a number is too long");
            }
            break;
        }
        case IN_BYTES: {
            size_t part = (size_t)(end - bytes) < g->left ? (size_t)(end - bytes) : g->left;
            bytes += part;
            g->left -= part;
            if (!g->left) g->place = AT_TYPE;
            break;
        }
        }
    }
    return true;
}

bool tpv_reader_feed(tpv_reader *reader, const uint8_t *bytes, size_t count) {
    if (*reader->fault) return false;
    // Bytes that describe values of a reply, such as lengths, count too.
    if (reader->pending > reader->limits.bytes + 32 * reader->count) return fail(reader, "a reply has too many bytes");
    if (!check(reader, bytes, count)) return false;
    reader->pending += count;
    if (tpv_hiredis.reader_feed(reader->reader, (const char *)bytes, count) != 0) {
        return fail(reader, "there is no memory for a reply");
    }
    return true;
}

int tpv_reader_next(tpv_reader *reader) {
    if (*reader->fault) return -1;
    if (reader->is_whole) {
        reader->count = reader->size = 0;
        reader->is_whole = false;
        // The memory of a large reply is not kept.
        if (reader->room > 1 << 20) {
            free(reader->bytes);
            reader->bytes = NULL;
            reader->room = 0;
        }
    }
    void *reply = NULL;
    current = reader;
    int code = tpv_hiredis.reader_get_reply(reader->reader, &reply);
    current = NULL;
    if (code != 0) {
        char text[128];
        memcpy(text, reader->reader->errstr, sizeof text);
        text[sizeof text - 1] = 0;
        fail(reader, *text ? text : "the protocol is broken");
        return -1;
    }
    if (!reply) return 0;
    if (!reader->is_whole) {
        fail(reader, "a reply ended within an array");
        return -1;
    }
    reader->pending = 0;
    return 1;
}

const tpv_item *tpv_reader_items(const tpv_reader *reader, size_t *count) {
    *count = reader->count;
    return reader->items;
}

const uint8_t *tpv_reader_bytes(const tpv_reader *reader, size_t *count) {
    *count = reader->size;
    return reader->bytes;
}

const char *tpv_reader_fault(const tpv_reader *reader) { return reader->fault; }
