// SPDX-License-Identifier: Apache-2.0

// Checks the same grammar without creating values.
extension JSONParser {
    /// Checks a complete document.
    mutating func checkDocument() throws(JSONSyntaxError) {
        try unsafe skipValue()
        unsafe skipBlanks()
        if unsafe position < end { throw unsafe fault("there is more text after the value") }
    }

    private mutating func skipValue() throws(JSONSyntaxError) {
        unsafe skipBlanks()
        guard let byte = unsafe peek() else {
            throw unsafe fault("the text ends where a value is expected")
        }
        switch byte {
        case UInt8(ascii: "{"):
            try unsafe skipList(until: UInt8(ascii: "}"), hasNames: true)
        case UInt8(ascii: "["):
            try unsafe skipList(until: UInt8(ascii: "]"), hasNames: false)
        case UInt8(ascii: "\""): try unsafe skipString()
        case UInt8(ascii: "t"): _ = try unsafe parseWord("true", .null)
        case UInt8(ascii: "f"): _ = try unsafe parseWord("false", .null)
        case UInt8(ascii: "n"): _ = try unsafe parseWord("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try unsafe skipNumber()
        default: throw unsafe fault("a value cannot begin with \(describe(byte))")
        }
    }

    private mutating func skipList(
        until close: UInt8, hasNames: Bool
    ) throws(JSONSyntaxError) {
        try unsafe enter()
        if unsafe peek() == close {
            unsafe position += 1
        } else {
            repeat {
                if hasNames { try unsafe skipName() }
                try unsafe skipValue()
            } while try unsafe goesOn(until: close)
        }
        unsafe depth -= 1
    }

    private mutating func skipName() throws(JSONSyntaxError) {
        unsafe skipBlanks()
        guard unsafe peek() == UInt8(ascii: "\"") else {
            throw unsafe fault("a member's name must be a string")
        }
        try unsafe skipString()
        try unsafe skipColon()
    }

    private mutating func skipString() throws(JSONSyntaxError) {
        unsafe position += 1
        let start = unsafe position
        var isASCII = true
        while let byte = unsafe peek() {
            switch byte {
            case UInt8(ascii: "\""):
                if !isASCII { _ = try unsafe text(start..<position) }
                unsafe position += 1
                return
            case UInt8(ascii: "\\"):
                unsafe position += 1
                _ = try unsafe parseEscape()
            case 0..<0x20: throw unsafe fault("a control character in a string must be escaped")
            default:
                if byte >= 0x80 { isASCII = false }
                unsafe position += 1
            }
        }
        throw unsafe fault("the text ends inside a string")
    }
}
