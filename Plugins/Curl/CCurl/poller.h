#pragma once
#include "curl.h"
#include <stdatomic.h>

// As many happenings are taken at once.
enum { TPC_EVENTS = 64 };

// What happens to a descriptor, in libcurl's bits.
typedef struct {
    int descriptor;
    int mask;
} tpc_happening;

// What the system tells of descriptors, and what wakes who waits for that. One thread waits or rests; others look.
typedef struct {
    int descriptor;
    int wake_read;
    atomic_int wake_write;
    // Threads that are about to write there.
    atomic_int wakers;
    // In nanoseconds, how long a thread looks at the sockets before it sleeps; 0 for not at all.
    int64_t patience;
    // What looks have earned, or would have.
    atomic_int credit;
    // What the next look that finds nothing costs.
    atomic_int loss;
    // When the last turn ended, by the clock in nanoseconds.
    _Atomic int64_t turned;
    // Somebody has something for the thread that looks.
    atomic_bool is_wanted;
} tpc_poller;

int64_t tpc_nanoseconds(void);

// The memory must be zero before. False where there are no descriptors left; it is to be closed then too.
bool tpc_poller_open(tpc_poller *poller, int64_t patience);
// Waits for those who are about to wake it; more than once is as once.
void tpc_poller_close(tpc_poller *poller);
// Changes what is watched of a descriptor, in libcurl's bits, from any thread.
void tpc_poller_watch(tpc_poller *poller, int descriptor, int before, int mask);
void tpc_poller_wake(tpc_poller *poller);
// Each gives the number of what it has found.
int tpc_poller_wait(tpc_poller *poller, tpc_happening *found, int milliseconds);
int tpc_poller_look(tpc_poller *poller, tpc_happening *found, bool *is_woken);
void tpc_poller_rest(tpc_poller *poller, int milliseconds);
bool tpc_poller_is_brisk(tpc_poller *poller);
void tpc_poller_want(tpc_poller *poller);
void tpc_poller_unwant(tpc_poller *poller);
// Notes the time, which an answer is measured from.
void tpc_poller_end_turn(tpc_poller *poller);
