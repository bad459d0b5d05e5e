// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import TurnpikeCore
import TurnpikeSupport

// SAFETY: this value owns the memory until `read` or `free`. The owner calls one of the two, once.
@safe struct HeadBytes: @unchecked Sendable {
    private let start: UnsafeMutableRawPointer?
    private let count: Int

    init(start: UnsafeMutableRawPointer?, count: Int) {
        unsafe self.start = start
        self.count = count
    }

    func free() { unsafe tpc_free(start) }

    // Reads and frees the lines. A 101 is an error, because the request did not request another
    // protocol (RFC 9110 §15.2.2).
    func read(_ url: URL, _ isHead: Bool) -> Result<Exchange.Head, ClientError> {
        defer { free() }
        let opening = unsafe CurlHead.opening(
            of: UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
                .assumingMemoryBound(to: UInt8.self),
            url: url, isHead: isHead)
        guard case .success(let head) = opening, head.response.status == 101 else { return opening }
        return .failure(CurlHead.broken("the status is 101, which was not asked for"))
    }

    var isHTTP1: Bool {
        guard let start = unsafe start, count > 6 else { return false }
        return unsafe start.load(fromByteOffset: 5, as: UInt8.self) == UInt8(ascii: "1")
    }
}

extension Exchange.Head {
    /// Whether the content ends only with the HTTP/1 connection.
    var endsWithConnection: Bool {
        // The request accepts no other coding, and other codings do not mark the end of content.
        length == nil && !response.headers.transferCodings.contains("chunked")
    }
}

extension HTTPHeaders {
    fileprivate var transferCodings: [String] {
        (self[.transferEncoding] ?? "").split(separator: ",")
            .map { Grammar.trimmed($0).lowercased() }
    }
}

enum CurlHead {
    static func opening(
        of bytes: UnsafeBufferPointer<UInt8>, url: URL, isHead: Bool
    ) -> Result<Exchange.Head, ClientError> {
        var lines = unsafe HeadLines(bytes: bytes)
        guard let first = unsafe lines.next(), let status = unsafe StatusLine(first) else {
            return .failure(broken("the first line is not an HTTP status line"))
        }
        // A line feed alone may end a line (RFC 9112 §2.2). If other lines end in CRLF, a line feed
        // alone is part of a smuggled value.
        let mayBeBare = lines.wasBare
        var fields = FieldReader()
        while let line = unsafe lines.next() {
            if lines.wasBare, !mayBeBare {
                return .failure(broken("a header line ends without a carriage return"))
            }
            if line.isEmpty { break }
            if let fault = unsafe fields.read(line, isContinued: lines.isContinued) {
                return .failure(broken("a header line \(fault)"))
            }
        }
        var headers = fields.headers
        if let defect = headers.defect { return .failure(broken(defect)) }
        if let fault = fields.length.fault { return .failure(broken(fault)) }
        // A length beside a transfer coding has no meaning (RFC 9112 §6.3).
        if fields.isChunked { headers.remove(.contentLength) }
        let code = HTTPStatus(status.code)
        let hasContent = !isHead && !code.endsWithHead
        if hasContent, fields.isChunked, let fault = codingFault(headers) { return .failure(fault) }
        let declared = fields.isChunked ? nil : fields.length.value
        return .success(
            Exchange.Head(
                ResponseHead(
                    status: code, headers: headers, url: url, version: status.version),
                length: hasContent ? declared : 0, encodedLength: hasContent ? declared : nil))
    }

    // The trailer fields. libcurl passes their lines, but does not mark the end of the section.
    static func trailers(
        of bytes: UnsafeBufferPointer<UInt8>
    ) -> Result<HTTPHeaders, ClientError> {
        var lines = unsafe HeadLines(bytes: bytes)
        var fields = FieldReader()
        while let line = unsafe lines.next() {
            if line.isEmpty { break }
            if let fault = unsafe fields.read(line, isContinued: lines.isContinued) {
                return .failure(broken("a trailer line \(fault)"))
            }
        }
        if let defect = fields.headers.defect { return .failure(broken(defect)) }
        return .success(fields.headers)
    }

    // The content has a transfer coding (RFC 9112 §6.1) that the request did not accept. libcurl
    // would return the coded bytes as content.
    private static func codingFault(_ headers: HTTPHeaders) -> ClientError? {
        // `chunked` may apply once (RFC 9112 §6.1), because libcurl would return inner chunks as
        // content. Two lines are accepted, because proxies repeat the line, but not the coding.
        let isTwice = headers.values(of: .transferEncoding).contains {
            $0.lowercased().split(separator: ",").count { Grammar.trimmed($0) == "chunked" } > 1
        }
        if isTwice { return broken("its content is chunked twice") }
        let other = headers.transferCodings.first { !["chunked", "identity", ""].contains($0) }
        return other.map { coding in
            ClientError(
                .decompression,
                "the response's transfer coding \(Grammar.escaped(coding, upTo: 40)) cannot be decoded"
                    + " and was not asked for; if the request has a TE field, remove it",
                transfer: TransferState(.receiving))
        }
    }

    static func broken(_ reason: String) -> ClientError {
        ClientError(
            .protocol, "the response is not valid HTTP: \(reason)",
            transfer: TransferState(.receiving))
    }
}

// SAFETY: the value is used only during the call that passes the bytes.
@safe private struct HeadLines {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    // Whether the last line had no carriage return at its end.
    private(set) var wasBare = false

    init(bytes: UnsafeBufferPointer<UInt8>) { unsafe self.bytes = unsafe bytes }

    /// Whether the next line begins with a blank, and continues this line (RFC 9112 §5.2).
    var isContinued: Bool {
        guard unsafe position < bytes.count else { return false }
        return unsafe Grammar.isBlank(bytes[position])
    }

    mutating func next() -> UnsafeBufferPointer<UInt8>? {
        guard unsafe position < bytes.count else { return nil }
        let start = position
        var end = unsafe bytes.firstIndex(of: 0x0A, from: start) ?? bytes.count
        position = end + 1
        wasBare = unsafe end == start || bytes[end - 1] != 0x0D
        if !wasBare { end -= 1 }
        return unsafe UnsafeBufferPointer(rebasing: bytes[start..<end])
    }
}

private struct StatusLine {
    let code: Int
    let version: String

    init?(_ line: UnsafeBufferPointer<UInt8>) {
        // The name `HTTP` is case-sensitive (RFC 9112 §2.3).
        let name = "HTTP/".utf8
        guard line.count >= 8, unsafe line.starts(with: name),
            let blank = unsafe line.firstIndex(of: UInt8(ascii: " "))
        else { return nil }
        var code = 0
        var digits = 0
        while digits < 4, blank + 1 + digits < line.count {
            let digit = unsafe line[blank + 1 + digits] &- UInt8(ascii: "0")
            if digit > 9 { break }
            code = code * 10 + Int(digit)
            digits += 1
        }
        guard digits == 3, code >= 100 else { return nil }
        self.code = code
        let text = unsafe UnsafeBufferPointer(rebasing: line[name.count..<blank])
        version = unsafe String(decoding: text, as: UTF8.self)
    }
}

/// The length that a response declares once or several times.
struct DeclaredLength {
    private(set) var value: Int64?
    private(set) var fault: String?

    // Equal lengths in several lines count as one length. Different lengths may be smuggling (RFC
    // 9112 §6.3).
    mutating func add(_ text: String) {
        var number: Int64 = 0
        var digits = 0
        for byte in text.utf8 {
            let digit = byte &- UInt8(ascii: "0")
            if byte == UInt8(ascii: ","), digits > 0 {
                add(number)
                (number, digits) = (0, 0)
            } else if digit < 10, let longer = number.appending(digit) {
                number = longer
                digits += 1
            } else if !(digits == 0 && byte == UInt8(ascii: " ")) {
                fault = "Content-Length is not a number"
                return
            }
        }
        if digits == 0 { fault = "Content-Length is not a number" }
        add(number)
    }

    private mutating func add(_ number: Int64) {
        if let value, value != number { fault = "Content-Length has two different values" }
        value = number
    }
}

extension Int64 {
    /// Returns nil if the number with another digit is too large.
    fileprivate func appending(_ digit: UInt8) -> Int64? {
        let (product, isTooLarge) = multipliedReportingOverflow(by: 10)
        let (sum, isLargerYet) = product.addingReportingOverflow(Int64(digit))
        return isTooLarge || isLargerYet ? nil : sum
    }
}

struct FieldReader {
    private(set) var headers = HTTPHeaders()
    private(set) var length = DeclaredLength()
    private(set) var isChunked = false

    // The beginning of a field whose value continues in the next line.
    private var beginning: [UInt8] = []

    init() { headers.reserveCapacity(16) }

    // Reads a line without the line end, and returns the fault of the line or nil. The lines of a
    // folded field are joined with blanks (RFC 9112 §5.2).
    mutating func read(
        _ line: UnsafeBufferPointer<UInt8>, isContinued: Bool
    ) -> String? {
        if !isContinued, beginning.isEmpty { return unsafe read(line) ? nil : "has no colon" }
        unsafe beginning += line
        if isContinued {
            beginning.append(UInt8(ascii: " "))
            return nil
        }
        let whole = beginning
        beginning = []
        guard unsafe whole.withUnsafeBufferPointer({ unsafe read($0) }) else {
            return "has no colon"
        }
        // libcurl reads each line separately, and would find a different end of the content.
        let frames = headers.last.map { $0.name == .contentLength || $0.name == .transferEncoding }
        return frames == true ? "that frames the content is folded" : nil
    }

    private mutating func read(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let colon = unsafe line.firstIndex(of: UInt8(ascii: ":"), from: 0) else {
            return false
        }
        var start = colon + 1
        var end = line.count
        while start < end, unsafe Grammar.isBlank(line[start]) { start += 1 }
        while end > start, unsafe Grammar.isBlank(line[end - 1]) { end -= 1 }
        let content = unsafe UnsafeBufferPointer(rebasing: line[start..<end])
        let name = HTTPHeaders.Name(
            unsafe String(
                decoding: UnsafeBufferPointer(rebasing: line[..<colon]), as: UTF8.self))
        let value =
            unsafe content.isASCII ? String(decoding: content, as: UTF8.self) : text(content)
        switch colon {
        case 14 where name == .contentLength: length.add(value)
        case 17 where name == .transferEncoding: isChunked = true
        default: break
        }
        headers.appendReceived(name, value)
        return true
    }

    // Decodes UTF-8. Any other text becomes one character for each byte (RFC 9110 §5.5).
    private func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        unsafe String(validating: bytes, as: UTF8.self)
            ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}

extension UnsafeBufferPointer<UInt8> {
    func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        guard start < count, let base = baseAddress,
            let place = unsafe memchr(base + start, Int32(byte), count - start)
        else { return nil }
        return unsafe UnsafeRawPointer(place) - UnsafeRawPointer(base)
    }

    fileprivate var isASCII: Bool {
        // Without a branch in the loop, the compiler handles many bytes at once.
        var bits: UInt8 = 0
        for index in indices { bits |= unsafe self[index] }
        return bits < 0x80
    }
}
