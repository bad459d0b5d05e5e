// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOHTTP1
import TurnpikeEssentials
import TurnpikeSupport

enum WireHead {
    static func head(
        _ head: HTTPResponseHead, to request: TurnpikeEssentials.Request,
        _ traits: AsyncHTTPClientTransport.ClientTraits
    ) -> Result<Exchange.Head, ClientError> {
        var headers = TurnpikeEssentials.HTTPHeaders()
        headers.reserveCapacity(head.headers.count)
        for (name, value) in head.headers {
            headers.appendReceived(TurnpikeEssentials.HTTPHeaders.Name(name), value)
        }
        if let defect = headers.defect { return .failure(broken(defect)) }
        let status = HTTPStatus(Int(head.status.code))
        let hasContent = request.method != .head && !status.endsWithHead
        // Beside a Transfer-Encoding, a Content-Length has no meaning (RFC 9112 §6.3).
        if headers.contains(.transferEncoding) { headers.remove(.contentLength) }
        if hasContent, let fault = codingFault(headers) { return .failure(fault) }
        let declared: Int64?
        switch length(headers) {
        case .failure(let error): return .failure(error)
        case .success(let length): declared = length
        }
        var length = declared
        if hasContent, traits.contains(.decodesContent), isDecoded(headers) {
            // async-http-client decodes the content, but keeps the fields about the coding.
            headers.remove(.contentEncoding)
            headers.remove(.contentLength)
            length = nil
        }
        let response = ResponseHead(
            status: status, headers: headers, url: request.url, version: version(head.version))
        return .success(
            Exchange.Head(
                response, length: hasContent ? length : 0,
                encodedLength: hasContent ? declared : nil))
    }

    /// Whether async-http-client would follow the redirect, if the configuration allows redirects.
    ///
    /// async-http-client also follows some statuses that are not redirects.
    static func mayBeFollowed(_ head: HTTPResponseHead) -> Bool {
        switch head.status.code {
        case 301, 302, 303, 304, 305, 307, 308: head.headers.contains(name: "Location")
        default: false
        }
    }

    /// The codings that async-http-client decodes, but not as a list of codings.
    static let codings = ["gzip", "deflate"]

    private static func isDecoded(_ headers: TurnpikeEssentials.HTTPHeaders) -> Bool {
        codings.contains(headers.first(.contentEncoding)?.lowercased() ?? "")
    }

    private static func version(_ version: HTTPVersion) -> String {
        version.major > 1 ? "\(version.major)" : "\(version.major).\(version.minor)"
    }

    // Equal lengths count once. Different lengths may be request smuggling (RFC 9112 §6.3).
    private static func length(
        _ headers: TurnpikeEssentials.HTTPHeaders
    ) -> Result<Int64?, ClientError> {
        var length: Int64?
        let values = headers.values(of: .contentLength)
        for value in values.flatMap({ $0.split(separator: ",") }) {
            let text = Grammar.trimmed(value)
            guard text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }),
                let number = Int64(text)
            else { return .failure(broken("Content-Length is not a number")) }
            if let length, length != number {
                return .failure(broken("Content-Length has two different values"))
            }
            length = number
        }
        return .success(length)
    }

    // Returns an error for a transfer coding (RFC 9112 §6.1), because the client accepts none.
    private static func codingFault(_ headers: TurnpikeEssentials.HTTPHeaders) -> ClientError? {
        let codings = headers.values(of: .transferEncoding).flatMap { $0.split(separator: ",") }
            .map { Grammar.trimmed($0).lowercased() }
        return codings.first { !["chunked", "identity", ""].contains($0) }.map { coding in
            ClientError(
                .decompression,
                "the response's transfer coding \(Grammar.escaped(coding, upTo: 40)) cannot be"
                    + " decoded and was not asked for; if the request has a TE field, remove it",
                transfer: TransferState(.receiving))
        }
    }

    private static func broken(_ reason: String) -> ClientError {
        ClientError(
            .protocol, "the response is not valid HTTP: \(reason)",
            transfer: TransferState(.receiving))
    }
}
