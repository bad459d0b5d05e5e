// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeTesting

@testable import TurnpikeSerializers

@Suite("The cost of property lists")
struct PropertyListCosts {
    private static let propertyLists: [(name: String, make: Hostile.Maker)] = [
        ("XML strings", { plist("<string>x</string>", $0) }),
        (
            "XML members",
            {
                Data(
                    ("<plist><dict>" + Hostile.numbered($0) { "<key>k\($0)</key><true/>" }
                        + "</dict></plist>").utf8)
            }
        ),
        (
            "XML members of one name",
            { Hostile.data("<plist><dict>", "<key>k</key><true/>", "</dict></plist>", $0) }
        ),
        ("XML comments", { plist("<!-- - -->", $0) }),
        (
            "XML document types",
            { Hostile.data("", "<!DOCTYPE plist>", "<plist><true/></plist>", $0) }
        ),
        (
            "XML references",
            { Hostile.data("<plist><string>", "&lt;&#65;", "</string></plist>", $0) }
        ),
        ("XML data", { Hostile.data("<plist><data>", "QUFB\n", "</data></plist>", $0) }),
        ("XML integers", { plist("<integer>-42</integer>", $0) }),
        (
            "XML nesting",
            {
                Hostile.data(
                    "<plist>",
                    String(repeating: "<array>", count: 200)
                        + String(repeating: "</array>", count: 200), "</plist>", $0)
            }
        ),
        (
            "a declaration",
            { Hostile.data("<?xml version='1.0' ", "encoding = ", "?><plist><true/></plist>", $0) }
        ),
        (
            "binary strings",
            {
                try PropertyListValue.array((0..<$0 / 20).map { .string("number \($0)") }).data(
                    format: .binary)
            }
        ),
        (
            "binary members",
            {
                try PropertyListValue.dictionary(
                    Dictionary(
                        uniqueKeysWithValues: (0..<$0 / 20).map { ("k\($0)", .integer(Int64($0))) })
                ).data(format: .binary)
            }
        ),
        ("binary, one text many times", { BinaryList.repeating(textBytes: $0 / 2, times: $0 / 4) }),
        ("binary, lists that share a place", { BinaryList.sharingPlaces($0) }),
        ("OpenStep", { Hostile.data("(", "a,", ")", $0) }),
    ]

    private static func plist(_ unit: String, _ size: Int) -> Data {
        Hostile.data("<plist><array>", unit, "</array></plist>", size)
    }

    private static var rows: [Hostile] {
        let parsed = propertyLists.map { name, make in
            Hostile("property list, \(name)", make: make) {
                _ = try PropertyListValue(parsing: $0)
            }
        }
        let decoded = propertyLists.map { name, make in
            Hostile("property list decoded, \(name)", make: make) {
                _ = try PropertyListValueDecoder().decode([String].self, from: $0)
            }
        }
        return parsed + decoded
    }

    @Test("grows with its size, and not with the square", arguments: rows)
    func growth(row: Hostile) async throws { try await row.check() }
}
