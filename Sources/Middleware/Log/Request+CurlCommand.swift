// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

extension Request {
    /// Returns the request as a one-line curl command, without secrets.
    ///
    /// The command is safe to paste into any POSIX shell. The command contains JSON, forms and
    /// plain text, with their secrets hidden. The command reads all other content from standard
    /// input: other media types, bytes that are not text, streams, parts of files, encoded content,
    /// and content beyond the limit. If a request cannot be sent, or has trailers, the result is a
    /// shell comment with the reason.
    /// - Parameters:
    ///   - redaction: The rules for hiding secrets.
    ///   - maxBodyBytes: The maximum number of bytes of content in the command.
    /// - Returns: The command.
    public func curlCommand(
        redaction: Redaction = .standard, maxBodyBytes: Int = 4096
    ) -> String {
        if let fault = fault ?? (body.hasTrailers ? "curl sends no trailers" : nil) {
            // The reason is quoted, because not every shell accepts comments in interactive input.
            return "# " + ShellWord.quoted("no curl command could be made: " + fault)
        }
        let summary = RequestSummary(self, redaction: redaction)
        // With the options, curl does not expand brackets in the URL, and does not remove dot
        // segments of the path.
        var words = ["curl", "--globoff", "--path-as-is"]
        if method == .head {
            words.append("--head")
        } else if method != .get || !body.isEmpty {
            words += ["--request", ShellWord.quoted("\(summary.method)")]
        }
        for field in summary.headers where field.name != .contentLength {
            let line = field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
            words += ["--header", ShellWord.quoted(line)]
        }
        let content = CurlContent(self, redaction: redaction, maxBytes: maxBodyBytes)
        if content.isSent, !headers.contains(.contentType) {
            // If no type is specified, curl declares the content as a form.
            let type = body.contentType.map { " \($0)" } ?? ""
            words += ["--header", ShellWord.quoted("Content-Type:" + type)]
        }
        words += content.options
        if asksServer { words += ["--request-target", "'*'"] }
        words.append(ShellWord.quoted(summary.url))
        return content.input + words.joined(separator: " ")
    }
}

private struct CurlContent {
    var input = ""
    var options: [String] = []
    var isSent: Bool { !options.isEmpty }

    private static let fromInput = ["--data-binary", "@-"]

    init(_ request: Request, redaction: Redaction, maxBytes: Int) {
        if request.body.isEmpty {
            // Requests with POST, PUT or PATCH have a length field, even if the content is empty
            // (RFC 9110 §8.6).
            let isAnnounced = [.post, .put, .patch].contains(request.method)
            options = isAnnounced ? ["--data-raw", "''"] : []
            return
        }
        if let path = Self.wholeFile(request.body) {
            options = ["--data-binary", ShellWord.quoted("@" + path)]
            return
        }
        let type =
            request.headers[.contentType].map { MediaType(parsing: $0) } ?? request.body.contentType
        guard let length = request.body.length, length <= Int64(maxBytes),
            !request.headers.contains(.contentEncoding), let data = request.body.inMemory,
            let bytes = redaction.shownBytes(data, type: type)
        else {
            options = Self.fromInput
            return
        }
        if let text = String(validating: bytes, as: UTF8.self), ShellWord.isPrintable(text) {
            options = ["--data-raw", ShellWord.quoted(text)]
        } else {
            pipe(bytes)
        }
    }

    private mutating func pipe(_ bytes: some Sequence<UInt8>) {
        input = "printf \(ShellWord.printfFormat(bytes)) | "
        options = Self.fromInput
    }

    private static func wholeFile(_ body: RequestBody) -> String? {
        guard let segments = try? body.segments(), segments.count == 1,
            case .file(let path, let range) = segments[0], range.lowerBound == 0,
            ShellWord.isPrintable(path),
            (try? UnnamedFile.size(ofRegular: path)) == range.upperBound
        else { return nil }
        return path
    }
}

/// Quotes words for the command line of a POSIX shell (XCU §2.2).
enum ShellWord {
    static func quoted(_ text: String) -> String {
        // The code splits bytes, as the shell does. In Swift, a quote and a following combining
        // mark are one `Character`.
        let parts = text.utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
        return "'" + parts.map { String(Substring($0)) }.joined(separator: "'\\''") + "'"
    }

    /// Whether a terminal shows the text unchanged, because the text has no line ends, control or
    /// format characters.
    static func isPrintable(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
                .paragraphSeparator:
                false
            default: true
            }
        }
    }

    static func printfFormat(_ bytes: some Sequence<UInt8>) -> String {
        var format = ""
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: "%"): format += "%%"
            case UInt8(ascii: "'"), UInt8(ascii: "\\"): format += octal(byte)
            // A leading hyphen would start an option.
            case UInt8(ascii: "-") where index == 0: format += octal(byte)
            case 0x20..<0x7F: format.unicodeScalars.append(Unicode.Scalar(byte))
            default: format += octal(byte)
            }
        }
        return "'" + format + "'"
    }

    private static func octal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 8)
        return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
    }
}
