// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeSupport

@Suite("Parameter values in the extended notation (RFC 8187)")
struct ExtendedValueTests {
    @Test(
        "A value is decoded without its language",
        arguments: [
            ("UTF-8''%c2%a3%20and%20%e2%82%ac%20rates", "£ and € rates"),
            ("utf-8'en'plain", "plain"), ("iso-8859-1'en'%A3%20rates", "£ rates"),
            ("UTF-8''it's", "it's"), ("UTF-8''", ""),
        ])
    func decoded(text: String, value: String) {
        #expect(ExtendedValue.decode(text) == value)
    }

    @Test(
        "A text that is not in this notation has no value",
        arguments: [
            "", "plain", "UTF-8'plain", "UTF-8''%", "UTF-8''%4", "UTF-8''%zz", "UTF-8''%c3",
            "UTF-16''a", "''a",
        ])
    func refused(text: String) {
        #expect(ExtendedValue.decode(text) == nil)
    }
}
