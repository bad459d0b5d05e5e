// SPDX-License-Identifier: Apache-2.0

#pragma once
#include "libcurl.h"
#include <stdatomic.h>

// Polling of descriptors by the system, a wakeup for the thread that waits, and busy polling.

/// The most events that are taken at once.
enum { TPC_EVENTS = 64 };

typedef struct {
    int descriptor;
    /// CURL_CSELECT_… bits.
    int mask;
} tpc_event;

// One thread waits, others may poll.
typedef struct {
    int descriptor;
    int wakeup_read;
    atomic_int wakeup_write;
    // The threads that are about to write to it.
    atomic_int wakers;
    // Busy polling: how long one poll takes at most, in nanoseconds, 0 for none; the budget; and when the last turn ended, in
    // nanoseconds.
    int64_t patience;
    atomic_int credit;
    atomic_int penalty;
    _Atomic int64_t turn_end;
    atomic_bool is_interrupted;
} tpc_poller;

int64_t tpc_nanoseconds(void);

/// Opens a poller in memory that is zero. Returns false if there are no descriptors left; it must be closed in any case.
bool tpc_poller_open(tpc_poller *poller, int64_t patience);
/// Waits for threads that are about to wake it up. Closing it again has no effect.
void tpc_poller_close(tpc_poller *poller);
/// Changes what is polled of a descriptor, in CURL_POLL_… bits. Any thread may call it.
void tpc_poller_set_interest(tpc_poller *poller, int descriptor, int former, int mask);
/// Ends a wait. Any thread may call it.
void tpc_poller_wakeup(tpc_poller *poller);
/// Waits for events, a wakeup or the timeout (-1 for none), and returns the number of events. It polls first if that may pay off.
int tpc_poller_wait(tpc_poller *poller, tpc_event *events, int milliseconds);
/// Waits for a wakeup or the timeout.
void tpc_poller_wait_for_wakeup(tpc_poller *poller, int milliseconds);

/// Polls for events without sleep, until there are some, a wakeup, an interrupt, or the end of its patience.
int tpc_poller_poll(tpc_poller *poller, tpc_event *events, bool *is_woken);
/// Returns whether polls have paid off lately.
bool tpc_poller_may_poll(tpc_poller *poller);
/// Ends a poll, or the next one. Any thread may call it.
void tpc_poller_interrupt(tpc_poller *poller);
void tpc_poller_clear_interrupt(tpc_poller *poller);
/// Notes the end of a turn, from which the time until an event is measured.
void tpc_poller_end_turn(tpc_poller *poller);
