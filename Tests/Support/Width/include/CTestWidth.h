// SPDX-License-Identifier: Apache-2.0
#ifndef C_TEST_WIDTH_H
#define C_TEST_WIDTH_H
// Nothing is called: width.c acts when the tests are loaded.
#endif
