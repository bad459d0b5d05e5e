// SPDX-License-Identifier: Apache-2.0
#ifndef C_TEST_ENVIRONMENT_H
#define C_TEST_ENVIRONMENT_H
// Nothing is called: environment.c acts when the tests are loaded.
#endif
