// SPDX-License-Identifier: Apache-2.0

#include <CTestEnvironment.h>
#include <stdlib.h>

// Here, before there are threads: to set a variable while other threads read some may end the process.
__attribute__((constructor)) static void set_environment(void) {
    // Swift Testing begins all tests at once unless this sets a width; then a thousand calls of one test use up the
    // time limit of another, and a hundred servers start together. Whoever sets the variable decides.
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "4", 0);
    // What stack files of tests refer to.
    setenv("TURNPIKE_PLANTED_0", "pl4nted-value-s3cret", 1);
    setenv("TURNPIKE_PLANTED_1", "pl4nted value\r\nX: s3cret", 1);
    setenv("TURNPIKE_PLANTED_2", "https://bob:pl4nted@h:99999/?sig=s3cret", 1);
    setenv("TURNPIKE_PLANTED_3", "pl4nted", 1);
    setenv("TURNPIKE_PLANTED_4", "inf0-pl4nted", 1);
    setenv("TURNPIKE_PLANTED_5", "GET pl4nted", 1);
    setenv("TURNPIKE_PLANTED_LEVEL", "debgu", 1);
}
