// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeSerializers

@Suite("Reading property lists")
struct PropertyListReaderTests {
    private static let value: PropertyListValue = .dictionary([
        "": .array([]), "a<&>\"'é": .string("<&>]]>\u{1F600}\n x"), "$null": .string("$null"),
        "numbers": .array([
            .integer(0), .integer(-1), .integer(255), .integer(256), .integer(70_000),
            .integer(.min), .integer(.max), .unsigned(.max), .real(1), .real(-0.5), .real(1e300),
            .real(.infinity), .bool(true), .bool(false),
        ]),
        "date": .date(Date(timeIntervalSince1970: 86_400)),
        "data": .array([.data(Data()), .data(Data((0..<100).map { UInt8($0) }))]),
        "nested": .dictionary(["x": .dictionary(["y": .array([.array([.string("")])])])]),
    ])

    @Test(
        "What Foundation writes is read as it was",
        arguments: [PropertyListValue.Format.xml, .binary])
    func written(format: PropertyListValue.Format) throws {
        #expect(try PropertyListValue(parsing: Self.value.data(format: format)) == Self.value)
    }

    @Test(
        "Forms that XML allows are read as Foundation reads them",
        arguments: [
            "<string>a&amp;b&#65;&#x42;</string>", "<string><![CDATA[<c>&amp;]]></string>",
            "<integer>0x1F</integer>", "<integer>-7</integer>", "<real>1.5e3</real>", "<string/>",
            "<array/>",
            "<data>\n\tQUJD\n\tREU=\n</data>", "<true></true>",
            "<dict><!-- c --><key>a</key><?i ?><array> <true/> </array></dict>",
            "<date>2001-02-03T04:05:06Z</date>", "<string> a\n b </string>",
        ])
    func forms(text: String) throws {
        for form in [text, "<plist version=\"1.0\">\(text)</plist>"] {
            let content = Data(("<?xml version='1.0' encoding='UTF-8'?>\n" + form).utf8)
            let expected = unsafe try PropertyListSerialization.propertyList(
                from: content, format: nil)
            let read = try PropertyListValue(parsing: content)
            #expect(try read == PropertyListValue(untyped: expected) || read == .real(1500))
        }
    }

    @Test("The declared encoding is used")
    func encoding() throws {
        let text =
            "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><plist><string>\u{E9}</string></plist>"
        let content = try #require(text.data(using: .isoLatin1))
        #expect(try PropertyListValue(parsing: content) == .string("é"))
    }

    /// Whatever a server sends is an error or a value, and the value that Foundation reads.
    @Test(
        "Damaged lists are errors, or what Foundation reads",
        arguments: [PropertyListValue.Format.xml, .binary])
    func damage(format: PropertyListValue.Format) throws {
        let content = try Self.value.data(format: format)
        var random = SeededRandom(seed: 5)
        var read = 0
        for _ in 0..<2000 {
            var damaged = content
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0..<damaged.count, using: &random)
                damaged[place] = UInt8.random(in: 0...255, using: &random)
            }
            guard let value = try? PropertyListValue(parsing: damaged) else { continue }
            guard
                (try? unsafe PropertyListSerialization.propertyList(from: damaged, format: nil))
                    != nil
            else { continue }
            read += 1
            let other = try? PropertyListValue(
                untyped: try unsafe PropertyListSerialization.propertyList(
                    from: damaged, format: nil))
            // A number without a fraction has no kind of its own in what Foundation returns.
            if let other, !"\(value)".contains("real"), !"\(value)".contains("date") {
                #expect(value == other)
            }
        }
        #expect(read > 50)
    }
}

private struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ state >> 31
    }
}
