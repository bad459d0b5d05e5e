// SPDX-License-Identifier: Apache-2.0

// Numbers.
extension JSONParser {
    /// The text of a valid number.
    private struct NumberText {
        let range: Range<Int>
        let isInteger: Bool
        let isNegative: Bool
        /// The absolute value of an integer, or nil if it overflows.
        let magnitude: UInt64?

        /// Whether the number may exceed the range of `Double`, so that it must be converted to
        /// find out.
        var mayBeOutOfRange: Bool { !isInteger && range.count > 4 }
    }

    mutating func parseNumber() throws(JSONSyntaxError) -> JSONNumber {
        let number = try unsafe scanNumber()
        if number.isInteger, let magnitude = number.magnitude {
            if !number.isNegative, let value = Int64(exactly: magnitude) {
                return JSONNumber(value)
            }
            // -0 is a `Double`.
            if number.isNegative, magnitude > 0, magnitude <= Int64.min.magnitude {
                return JSONNumber(Int64(truncatingIfNeeded: 0 &- magnitude))
            }
        }
        if number.isInteger, !(number.isNegative && number.magnitude == 0) {
            return JSONNumber(digits: unsafe string(number.range))
        }
        return try unsafe double(number)
    }

    /// Checks a number without returning its value.
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
