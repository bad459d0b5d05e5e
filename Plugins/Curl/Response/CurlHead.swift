import Foundation
import TurnpikeCore

/// How the lines of a head become a ``/TurnpikeCore/ResponseHead``.
enum CurlHead {
    static func opening(
        of bytes: UnsafeBufferPointer<UInt8>, url: URL, isHead: Bool
    ) -> Result<Exchange.Opening, ClientError> {
        var lines = unsafe HeadLines(bytes: bytes)
        guard let first = lines.next(),
            let status = unsafe StatusLine(UnsafeBufferPointer(rebasing: bytes[first]))
        else { return .failure(broken("its first line is none of HTTP")) }
        var headers = HTTPHeaders()
        var length = DeclaredLength()
        var isChunked = false
        while let line = lines.next() {
            if line.isEmpty { break }
            let field = unsafe UnsafeBufferPointer(rebasing: bytes[line])
            guard let colon = unsafe field.firstIndex(of: UInt8(ascii: ":")) else {
                return .failure(broken("a header line has no colon"))
            }
            let name = unsafe HTTPHeaders.Name(
                String(decoding: UnsafeBufferPointer(rebasing: field[..<colon]), as: UTF8.self))
            let value = unsafe text(UnsafeBufferPointer(rebasing: field[(colon + 1)...]))
            switch name.rawValue.utf8.count {
            case 14 where name == .contentLength: length.add(value)
            case 17 where name == .transferEncoding: isChunked = true
            default: break
            }
            headers.appendReceived(name, value)
        }
        if let defect = headers.defect { return .failure(broken(defect.description)) }
        if let fault = length.fault { return .failure(broken(fault)) }
        // A length beside it has no meaning (RFC 9112 §6.3).
        if isChunked { headers.remove(.contentLength) }
        let code = HTTPStatus(status.code)
        let hasContent = !isHead && !code.hasNoContent
        let declared = isChunked ? nil : length.value
        return .success(
            Exchange.Opening(
                head: ResponseHead(
                    status: code, headers: headers, url: url, version: status.version),
                length: hasContent ? declared : 0, encodedLength: hasContent ? declared : nil))
    }

    // UTF-8, or else what was meant by one byte a character (RFC 9110 §5.5).
    private static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        var start = 0
        var end = bytes.count
        while start < end, unsafe Grammar.isBlank(bytes[start]) { start += 1 }
        while end > start, unsafe Grammar.isBlank(bytes[end - 1]) { end -= 1 }
        let trimmed = unsafe UnsafeBufferPointer(rebasing: bytes[start..<end])
        return unsafe String(validating: trimmed, as: UTF8.self)
            ?? String(String.UnicodeScalarView(trimmed.map { Unicode.Scalar($0) }))
    }

    static func broken(_ reason: String) -> ClientError {
        ClientError(
            .protocol, "the response is not valid HTTP: \(reason)",
            transfer: TransferState(.receiving))
    }
}

// SAFETY: it is used within the call that gives the bytes.
/// The lines of a head without their ends; a line that begins with a blank goes on the one before.
@safe private struct HeadLines {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(bytes: UnsafeBufferPointer<UInt8>) { unsafe self.bytes = unsafe bytes }

    mutating func next() -> Range<Int>? {
        guard unsafe position < bytes.count else { return nil }
        let start = position
        while unsafe position < bytes.count, unsafe bytes[position] != 0x0A { position += 1 }
        var end = position
        position += 1
        if end > start, unsafe bytes[end - 1] == 0x0D { end -= 1 }
        return start..<end
    }
}

private struct StatusLine {
    let code: Int
    let version: String

    init?(_ line: UnsafeBufferPointer<UInt8>) {
        guard line.count >= 8, let slash = unsafe line.firstIndex(of: UInt8(ascii: "/")),
            let blank = unsafe line.firstIndex(of: UInt8(ascii: " ")), slash < blank
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
        version = unsafe String(
            decoding: UnsafeBufferPointer(rebasing: line[(slash + 1)..<blank]), as: UTF8.self)
    }
}

/// The length that a response declares, perhaps several times.
private struct DeclaredLength {
    private(set) var value: Int64?
    private(set) var fault: String?

    // Equal lengths in several lines are one; different ones are a sign of smuggling (RFC 9112
    // §6.3).
    mutating func add(_ text: String) {
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let digits = Grammar.trimmed(part)
            guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }),
                let number = Int64(digits)
            else {
                fault = "its length is not a number"
                return
            }
            if let value, value != number { fault = "it has two different lengths" }
            value = number
        }
    }
}
