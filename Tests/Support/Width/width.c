// SPDX-License-Identifier: Apache-2.0

#include <CTestWidth.h>
#include <stdlib.h>

// Swift Testing begins all tests at once unless this variable sets a width; then a thousand calls of one test use
// up the time limit of another, and a hundred servers start together. Whoever sets the variable decides.
__attribute__((constructor)) static void set_width(void) {
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "4", 0);
}
