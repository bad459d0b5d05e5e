// SPDX-License-Identifier: Apache-2.0

/// Parses JSON text in one pass, with limited recursion; redaction has its own `JSONTokens`.
// SAFETY: the parser lives inside one `withUnsafeBytes`; every read is behind a check of `position`
// against `end`.
@unsafe
struct JSONParser {
    let base: UnsafePointer<UInt8>?
    let end: Int
    let options: JSONReadingOptions
    let keepsValues: Bool
    var position = 0
    var depth = 0

    init(
        bytes: UnsafeBufferPointer<UInt8>, options: JSONReadingOptions, keepsValues: Bool = true
    ) {
        unsafe base = bytes.baseAddress
        unsafe end = bytes.count
        unsafe self.options = options
        unsafe self.keepsValues = keepsValues
        if unsafe bytes.starts(with: [0xEF, 0xBB, 0xBF]) { unsafe position = 3 }
    }

    mutating func parseDocument() throws(JSONSyntaxError) -> JSONValue {
        let value = try unsafe parseValue()
        unsafe skipBlanks()
        if unsafe position < end { throw unsafe fault("there is more text after the value") }
        return value
    }

    func peek() -> UInt8? {
        guard let base = unsafe base, unsafe position < end else { return nil }
        return unsafe base[position]
    }

    mutating func skipBlanks() {
        while let byte = unsafe peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
        {
            unsafe position += 1
        }
    }

    private mutating func parseValue() throws(JSONSyntaxError) -> JSONValue {
        unsafe skipBlanks()
        guard let byte = unsafe peek() else {
            throw unsafe fault("the text ends where a value is expected")
        }
        switch byte {
        case UInt8(ascii: "{"): return try unsafe parseObject()
        case UInt8(ascii: "["): return try unsafe parseArray()
        case UInt8(ascii: "\""): return .string(try unsafe parseString())
        case UInt8(ascii: "t"): return try unsafe parseWord("true", .bool(true))
        case UInt8(ascii: "f"): return try unsafe parseWord("false", .bool(false))
        case UInt8(ascii: "n"): return try unsafe parseWord("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            if unsafe keepsValues { return .number(try unsafe parseNumber()) }
            try unsafe skipNumber()
            return .null
        default: throw unsafe fault("a value cannot begin with \(describe(byte))")
        }
    }

    mutating func parseWord(
        _ word: StaticString, _ value: JSONValue
    ) throws(JSONSyntaxError) -> JSONValue {
        let start = unsafe position
        for offset in 0..<word.utf8CodeUnitCount {
            guard unsafe peek() == (unsafe word.utf8Start[offset]) else {
                unsafe position = start
                throw unsafe fault("only true, false and null are written without quotes")
            }
            unsafe position += 1
        }
        return value
    }

    mutating func enter() throws(JSONSyntaxError) {
        unsafe depth += 1
        if unsafe depth > options.maxDepth {
            throw unsafe fault("arrays and objects nest deeper than \(options.maxDepth)")
        }
        unsafe position += 1
        unsafe skipBlanks()
    }

    private mutating func parseArray() throws(JSONSyntaxError) -> JSONValue {
        try unsafe enter()
        var elements: [JSONValue] = []
        if unsafe peek() == UInt8(ascii: "]") {
            unsafe position += 1
        } else {
            repeat {
                let element = try unsafe parseValue()
                if unsafe keepsValues { elements.append(element) }
            } while try unsafe goesOn(until: UInt8(ascii: "]"))
        }
        unsafe depth -= 1
        return .array(elements)
    }

    private mutating func parseObject() throws(JSONSyntaxError) -> JSONValue {
        try unsafe enter()
        var object = JSONObject()
        if unsafe peek() == UInt8(ascii: "}") {
            unsafe position += 1
        } else {
            repeat {
                unsafe skipBlanks()
                guard unsafe peek() == UInt8(ascii: "\"") else {
                    throw unsafe fault("a member's name must be a string")
                }
                let start = unsafe position
                let name = try unsafe parseString()
                try unsafe skipColon()
                let value = try unsafe parseValue()
                let isNew = unsafe !keepsValues || object.append(name, value)
                if !isNew, unsafe options.refusesDuplicateNames {
                    unsafe position = start
                    throw unsafe fault("two members have this name")
                }
            } while try unsafe goesOn(until: UInt8(ascii: "}"))
        }
        unsafe depth -= 1
        return .object(object)
    }

    mutating func skipColon() throws(JSONSyntaxError) {
        unsafe skipBlanks()
        guard unsafe peek() == UInt8(ascii: ":") else {
            throw unsafe fault("a colon must follow a member's name")
        }
        unsafe position += 1
    }

    mutating func goesOn(until close: UInt8) throws(JSONSyntaxError) -> Bool {
        unsafe skipBlanks()
        guard let byte = unsafe peek() else {
            throw unsafe fault("the text ends inside an array or object")
        }
        guard byte == UInt8(ascii: ",") || byte == close else {
            throw unsafe fault("a comma or \(describe(close)) is expected, not \(describe(byte))")
        }
        unsafe position += 1
        return byte != close
    }

    var buffer: UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(start: base, count: end)
    }
}

extension JSONParser {
    mutating func skipString() throws(JSONSyntaxError) {
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
