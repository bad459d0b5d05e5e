// SPDX-License-Identifier: Apache-2.0

extension JSONParser {
    mutating func parseString() throws(JSONSyntaxError) -> String {
        guard unsafe keepsValues else {
            try unsafe skipString()
            return ""
        }
        unsafe position += 1
        let start = unsafe position
        while let byte = unsafe peek() {
            if byte == UInt8(ascii: "\"") {
                let text = try unsafe text(start..<position)
                unsafe position += 1
                return text
            }
            if byte == UInt8(ascii: "\\") { return try unsafe parseEscapedString(from: start) }
            if byte < 0x20 { throw unsafe fault("a control character in a string must be escaped") }
            unsafe position += 1
        }
        throw unsafe fault("the text ends inside a string")
    }

    private mutating func parseEscapedString(from start: Int) throws(JSONSyntaxError) -> String {
        var result = try unsafe text(start..<position)
        var plain = unsafe position
        while let byte = unsafe peek() {
            switch byte {
            case UInt8(ascii: "\""):
                result += try unsafe text(plain..<position)
                unsafe position += 1
                return result
            case UInt8(ascii: "\\"):
                result += try unsafe text(plain..<position)
                unsafe position += 1
                result.unicodeScalars.append(try unsafe parseEscape())
                plain = unsafe position
            case 0..<0x20: throw unsafe fault("a control character in a string must be escaped")
            default: unsafe position += 1
            }
        }
        throw unsafe fault("the text ends inside a string")
    }

    mutating func parseEscape() throws(JSONSyntaxError) -> Unicode.Scalar {
        guard let byte = unsafe peek() else { throw unsafe fault("the text ends inside a string") }
        unsafe position += 1
        switch byte {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try unsafe parseUnicodeEscape()
        default:
            unsafe position -= 1
            throw unsafe fault("\(describe(byte)) is not a valid escape")
        }
    }

    private mutating func parseUnicodeEscape() throws(JSONSyntaxError) -> Unicode.Scalar {
        let high = try unsafe parseFourHexDigits()
        if let scalar = Unicode.Scalar(high) { return scalar }
        if (0xD800..<0xDC00).contains(high), unsafe peek() == UInt8(ascii: "\\") {
            unsafe position += 1
            if unsafe peek() == UInt8(ascii: "u") {
                unsafe position += 1
                let low = try unsafe parseFourHexDigits()
                if (0xDC00..<0xE000).contains(low) {
                    let value = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
                    if let scalar = Unicode.Scalar(value) { return scalar }
                }
            }
        }
        throw unsafe fault("an unpaired surrogate")
    }

    private mutating func parseFourHexDigits() throws(JSONSyntaxError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = unsafe peek(),
                let digit = Character(Unicode.Scalar(byte)).hexDigitValue
            else { throw unsafe fault("\\u needs four hexadecimal digits") }
            value = value << 4 | UInt32(digit)
            unsafe position += 1
        }
        return value
    }

    func text(_ range: Range<Int>) throws(JSONSyntaxError) -> String {
        let bytes = unsafe UnsafeBufferPointer(rebasing: buffer[range])
        guard let text = unsafe String(validating: bytes, as: UTF8.self) else {
            throw unsafe fault("a string is not valid UTF-8")
        }
        return text
    }

    func describe(_ byte: UInt8) -> String {
        (0x21...0x7E).contains(byte)
            ? "'\(Unicode.Scalar(byte))'" : "the byte 0x" + String(byte, radix: 16)
    }

    func fault(_ reason: String) -> JSONSyntaxError {
        let before = unsafe buffer[..<min(position, end)]
        let line = unsafe before.reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
        let lineStart = unsafe (before.lastIndex(of: 0x0A) ?? -1) + 1
        return unsafe JSONSyntaxError(
            reason: reason, offset: position, line: line, column: position - lineStart + 1)
    }
}

extension JSONParser {
    private struct NumberText {
        let range: Range<Int>
        let isInteger: Bool
        let isNegative: Bool
        let magnitude: UInt64?

        /// Whether the number may exceed the range of `Double`, which only a conversion shows.
        var mayBeOutOfRange: Bool { !isInteger && range.count > 4 }
    }

    mutating func parseNumber() throws(JSONSyntaxError) -> JSONNumber {
        let number = try unsafe scanNumber()
        if number.isInteger, let magnitude = number.magnitude {
            if !number.isNegative, let value = Int64(exactly: magnitude) {
                return JSONNumber(value)
            }
            // The number -0 is a `Double`, because integers have no negative zero.
            if number.isNegative, magnitude > 0, magnitude <= Int64.min.magnitude {
                return JSONNumber(Int64(truncatingIfNeeded: 0 &- magnitude))
            }
        }
        if number.isInteger, !(number.isNegative && number.magnitude == 0) {
            return JSONNumber(digits: unsafe string(number.range))
        }
        return try unsafe double(number)
    }

    mutating func skipNumber() throws(JSONSyntaxError) {
        let number = try unsafe scanNumber()
        if number.mayBeOutOfRange { _ = try unsafe double(number) }
    }

    private mutating func double(_ number: NumberText) throws(JSONSyntaxError) -> JSONNumber {
        if let value = Double(unsafe string(number.range)), let number = JSONNumber(value) {
            return number
        }
        unsafe position = number.range.lowerBound
        throw unsafe fault("a number is beyond the range of a Double")
    }

    private mutating func scanNumber() throws(JSONSyntaxError) -> NumberText {
        let start = unsafe position
        var isInteger = true
        var magnitude: UInt64 = 0
        var overflows = false
        let isNegative = unsafe peek() == UInt8(ascii: "-")
        if isNegative { unsafe position += 1 }
        let firstDigit = unsafe position
        while let byte = unsafe peek(), byte &- UInt8(ascii: "0") < 10 {
            let (product, high) = magnitude.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(UInt64(byte &- UInt8(ascii: "0")))
            magnitude = sum
            overflows = overflows || high || carry
            unsafe position += 1
        }
        let digits = unsafe position - firstDigit
        guard digits > 0 else { throw unsafe fault("a digit is expected") }
        if digits > 1, let base = unsafe base, unsafe base[firstDigit] == UInt8(ascii: "0") {
            throw unsafe fault("a number cannot begin with 0 and another digit")
        }
        if unsafe peek() == UInt8(ascii: ".") {
            isInteger = false
            unsafe position += 1
            try unsafe skipDigits()
        }
        if let byte = unsafe peek(), byte | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            unsafe position += 1
            if let sign = unsafe peek(), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
                unsafe position += 1
            }
            try unsafe skipDigits()
        }
        if unsafe position - start > options.maxNumberBytes {
            unsafe position = start
            throw unsafe fault("a number is longer than \(options.maxNumberBytes) bytes")
        }
        return NumberText(
            range: unsafe start..<position, isInteger: isInteger, isNegative: isNegative,
            magnitude: overflows ? nil : magnitude)
    }

    private mutating func skipDigits() throws(JSONSyntaxError) {
        let start = unsafe position
        while let byte = unsafe peek(), byte &- UInt8(ascii: "0") < 10 { unsafe position += 1 }
        if unsafe position == start { throw unsafe fault("a digit is expected") }
    }

    private func string(_ range: Range<Int>) -> String {
        unsafe String(decoding: UnsafeBufferPointer(rebasing: buffer[range]), as: UTF8.self)
    }
}
