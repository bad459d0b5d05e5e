// SPDX-License-Identifier: Apache-2.0

#pragma once
#include <stdint.h>

/// The calls of malloc, calloc and realloc in this process so far. Always 0 if they cannot be counted.
uint64_t malloc_count(void);
