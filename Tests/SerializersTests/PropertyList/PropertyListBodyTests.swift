// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TurnpikeCore
@testable import TurnpikeSerializers

@Suite("Property lists as bodies")
struct PropertyListBodyTests {
    @Test("The smallest and the largest integers stay integers")
    func bounds() throws {
        let value: PropertyListValue = .array([
            .integer(.min), .integer(.max), .unsigned(.max), .integer(-1),
        ])
        for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
            #expect(try PropertyListValue(parsing: value.data(format: format)) == value)
        }
    }

    @Test(
        "A string that XML cannot hold is refused, but can be sent as binary",
        arguments: ["a\u{1}b", "\0", "\u{B}", "\u{1F}", "\u{FFFE}", "x\u{FFFF}"])
    func illegal(text: String) throws {
        for value in [
            PropertyListValue.array([.string(text)]), .dictionary([text: .bool(true)]),
            .dictionary(["a": .string(text)]),
        ] {
            let error = #expect(throws: ClientError.self) { try RequestBody.propertyList(value) }
            #expect(error?.code == .serialization)
            #expect(error?.message.contains("binary") == true)
            expectError(.serialization) { try value.data() }
        }
        let error = #expect(throws: ClientError.self) {
            try RequestBody.propertyList(encoding: ["k": text])
        }
        #expect(error?.code == .serialization)
        #expect(
            try RequestBody.propertyList(encoding: ["k": text], format: .binary).length ?? 0 > 0)
    }

    @Test("Tabs, line breaks and non-ASCII characters are allowed in XML")
    func legal() throws {
        let value = PropertyListValue.array([.string("a\tb\nc \u{7F}é\u{FFFD}😃")])
        #expect(try PropertyListValue(parsing: value.data()) == value)
    }

    @Test("The top of a list that is written is an array or a dictionary")
    func top() {
        expectError(.serialization) { try PropertyListValue.string("x").data(format: .binary) }
    }
}
