// SPDX-License-Identifier: Apache-2.0
#ifndef CSPAWN_H
#define CSPAWN_H

/// Starts a program, in which no signal is blocked and no descriptor above 2 is open.
///
/// `program` is a path, or a name that is looked for in the folders of PATH. `arguments` and `environment` end
/// with NULL. `folder` is where the child begins, or NULL. `streams` are the descriptors that it has as 0, 1 and 2.
///
/// Returns 0 and stores the process ID, or returns an errno.
int cspawn(const char *program, char *const arguments[], char *const environment[], const char *folder,
           const int streams[3], int *id);

#endif
