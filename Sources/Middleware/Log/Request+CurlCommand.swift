import Foundation
public import TurnpikeCore

extension Request {
    /// The request as a command line for curl, in one line, without secrets.
    ///
    /// It is safe to paste into any POSIX shell, whatever the request holds. Content that is text is
    /// shown with the secrets in it hidden, other content as octal escapes. What cannot be shown (a
    /// stream, a part of a file, a multipart or encoded content, more than the limit) is read from
    /// standard input instead. Of a request that cannot be sent, or has trailers, it says, in a
    /// comment, that there is no command, and why.
    /// - Parameters:
    ///   - redaction: What is hidden.
    ///   - maxBodyBytes: How much content the line may hold.
    /// - Returns: The command.
    public func curlCommand(
        redaction: Redaction = .standard, maxBodyBytes: Int = 4096
    ) -> String {
        if let fault = fault ?? (body.hasTrailers ? "curl sends no trailers" : nil) {
            // Quoted too: not every shell knows comments in what is typed.
            return "# " + ShellWord.quoted("no curl command could be made: " + fault)
        }
        let summary = RequestSummary(self, redaction: redaction)
        // Brackets in the URL are no patterns, and dots in its path no steps.
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
            // Else curl claims a form.
            let type = body.contentType.map { " \($0)" } ?? ""
            words += ["--header", ShellWord.quoted("Content-Type:" + type)]
        }
        words += content.options
        if asksServer { words += ["--request-target", "'*'"] }
        words.append(ShellWord.quoted(summary.url))
        return content.input + words.joined(separator: " ")
    }
}

/// The content of a request, as options for curl and what stands before it.
private struct CurlContent {
    var input = ""
    var options: [String] = []
    var isSent: Bool { !options.isEmpty }

    private static let fromInput = ["--data-binary", "@-"]

    init(_ request: Request, redaction: Redaction, maxBytes: Int) {
        if request.body.isEmpty {
            // These announce their content even where it is empty (RFC 9110 §8.6).
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
        guard let length = request.body.length, length <= Int64(maxBytes), Self.isShown(type),
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

    // Their parts and objects are no text.
    private static func isShown(_ type: MediaType?) -> Bool {
        guard let type else { return true }
        return type.type != "multipart" && !type.subtype.contains("plist")
    }

    private static func wholeFile(_ body: Body) -> String? {
        guard let segments = try? body.segments(), segments.count == 1,
            case .file(let path, let range) = segments[0], range.lowerBound == 0,
            ShellWord.isPrintable(path),
            let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber,
            size.int64Value == range.upperBound
        else { return nil }
        return path
    }
}
