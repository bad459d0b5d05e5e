// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Converts an `HTTPURLResponse` into the head that the server sent, as far as possible.
enum URLSessionHead {
    static func head(
        of response: HTTPURLResponse, to url: URL, method: String
    ) -> Result<Exchange.Head, ClientError> {
        var fields: [(name: String, value: String)] = []
        for (name, value) in response.allHeaderFields {
            guard let name = name as? String, let value = value as? String else { continue }
            fields.append((name, value))
        }
        // The dictionary has no order. Sorting gives the fields the same order each time.
        fields.sort { $0.name < $1.name }
        var headers = HTTPHeaders()
        for (name, value) in fields {
            if Grammar.equalsIgnoringCase(name, "Set-Cookie") {
                for line in SetCookieLines.split(value) { headers.appendReceived(.setCookie, line) }
            } else if Grammar.equalsIgnoringCase(name, "Location") {
                for line in locations(value) { headers.appendReceived(.location, line) }
            } else {
                headers.appendReceived(HTTPHeaders.Name(name), value)
            }
        }
        // The request did not request another protocol (RFC 9110 §15.2.2).
        let isSwitched = response.statusCode == 101
        if let defect = isSwitched ? "the status is 101, which was not asked for" : headers.defect {
            return .failure(
                ClientError(
                    .protocol, "the response is not valid HTTP: \(defect)",
                    transfer: TransferState(.receiving)))
        }
        switch declaredLength(headers) {
        case .failure(let error): return .failure(error)
        case .success(let declared):
            let status = HTTPStatus(response.statusCode)
            return .success(
                head(
                    status: status, headers: headers, url: url, declared: declared,
                    hasContent: method != "HEAD" && !status.endsWithHead))
        }
    }

    // URLSession has joined the lines with a comma and a space. A line begins only at text that
    // looks like another URL, because a URL may also contain a comma and a space.
    private static func locations(_ value: String) -> [String] {
        var lines: [String] = []
        for part in value.components(separatedBy: ", ") {
            let start = part.prefix(8).lowercased()
            if !lines.isEmpty, !["/", "http://", "https://"].contains(where: start.hasPrefix) {
                lines[lines.count - 1] += ", " + part
            } else {
                lines.append(part)
            }
        }
        return lines
    }

    private static func head(
        status: HTTPStatus, headers: HTTPHeaders, url: URL, declared: Int64?, hasContent: Bool
    ) -> Exchange.Head {
        var headers = headers
        var head = Exchange.Head(
            ResponseHead(status: status, headers: headers, url: url))
        if !hasContent {
            head.length = 0
            return head
        }
        if headers.contains(.transferEncoding) {
            // With a transfer coding, a length is ignored (RFC 9112 §6.3).
            headers.remove(.contentLength)
        } else if isEncoded(headers) {
            // libcurl has decoded the content, but has not removed the two fields.
            head.encodedLength = declared
            headers.remove(.contentEncoding)
            headers.remove(.contentLength)
        } else {
            head.length = declared
            head.encodedLength = declared
        }
        if isEncoded(headers) { headers.remove(.contentEncoding) }
        head.response = ResponseHead(status: status, headers: headers, url: url)
        return head
    }

    private static func isEncoded(_ headers: HTTPHeaders) -> Bool {
        guard let codings = headers[.contentEncoding] else { return false }
        return !codings.split(separator: ",").allSatisfy {
            Grammar.equalsIgnoringCase(String(Grammar.trimmed($0)), "identity")
        }
    }

    // Equal lengths count as one length. Different lengths are a sign of request smuggling (RFC
    // 9112 §6.3).
    private static func declaredLength(_ headers: HTTPHeaders) -> Result<Int64?, ClientError> {
        guard let text = headers[.contentLength] else { return .success(nil) }
        let values = Set(text.split(separator: ",").map { String(Grammar.trimmed($0)) })
        guard values.count == 1, let value = values.first else {
            return .failure(
                ClientError(
                    .protocol, "the response has conflicting Content-Length values",
                    transfer: TransferState(.receiving)))
        }
        guard value.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }), let length = Int64(value)
        else {
            return .failure(
                ClientError(
                    .protocol, "the response's length is not a number",
                    transfer: TransferState(.receiving)))
        }
        return .success(length)
    }
}
