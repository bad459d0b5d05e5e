// SPDX-License-Identifier: Apache-2.0

// The part of libhiredis that is used, with its own prototypes here: none of its headers is needed to build.
//
// Its structures differ between 0.14 and 1.x. This code reads only members that come first in all versions: the code and the text
// of an error in a reader, and the type of a task.
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { REPLY_STRING = 1, REPLY_ARRAY, REPLY_INTEGER, REPLY_NIL, REPLY_STATUS, REPLY_ERROR };

typedef struct hiredis_task {
    int type;
} hiredis_task;

typedef struct hiredis_reader {
    int err;
    char errstr[128];
} hiredis_reader;

typedef struct hiredis_functions_0 {
    void *(*create_string)(const hiredis_task *, char *, size_t);
    void *(*create_array)(const hiredis_task *, int);
    void *(*create_integer)(const hiredis_task *, long long);
    void *(*create_nil)(const hiredis_task *);
    void (*free_object)(void *);
} hiredis_functions_0;

typedef struct hiredis_functions_1 {
    void *(*create_string)(const hiredis_task *, char *, size_t);
    void *(*create_array)(const hiredis_task *, size_t);
    void *(*create_integer)(const hiredis_task *, long long);
    void *(*create_double)(const hiredis_task *, double, char *, size_t);
    void *(*create_nil)(const hiredis_task *);
    void *(*create_bool)(const hiredis_task *, int);
    void (*free_object)(void *);
} hiredis_functions_1;

typedef struct hiredis {
    hiredis_reader *(*reader_create)(void *functions);
    void (*reader_free)(hiredis_reader *);
    int (*reader_feed)(hiredis_reader *, const char *, size_t);
    int (*reader_get_reply)(hiredis_reader *, void **);
    // Whether the library is 1.x.
    bool is_one;
} hiredis;

extern hiredis tpv_hiredis;
