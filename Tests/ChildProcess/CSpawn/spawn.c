// SPDX-License-Identifier: Apache-2.0

// Two functions of glibc that Swift does not import: `addchdir_np` and `addclosefrom_np`.
#define _GNU_SOURCE
#include <CSpawn.h>
#include <signal.h>
#include <spawn.h>

int cspawn(const char *program, char *const arguments[], char *const environment[], const char *folder,
           const int streams[3], int *id) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int fault = posix_spawn_file_actions_init(&actions);
    if (fault) return fault;
    fault = posix_spawnattr_init(&attributes);
    if (fault) {
        posix_spawn_file_actions_destroy(&actions);
        return fault;
    }
    for (int number = 0; number < 3 && !fault; number++)
        fault = posix_spawn_file_actions_adddup2(&actions, streams[number], number);
    if (folder && !fault) fault = posix_spawn_file_actions_addchdir_np(&actions, folder);

    // A thread of Dispatch blocks most signals, and a child inherits that.
    sigset_t none;
    sigemptyset(&none);
    short flags = POSIX_SPAWN_SETSIGMASK;
#ifdef __APPLE__
    flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#else
    // A connection whose descriptor a child has too does not end when it is closed here.
    if (!fault) fault = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
#endif
    if (!fault) fault = posix_spawnattr_setsigmask(&attributes, &none);
    if (!fault) fault = posix_spawnattr_setflags(&attributes, flags);
    pid_t process = 0;
    if (!fault) fault = posix_spawnp(&process, program, &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    *id = process;
    return fault;
}
