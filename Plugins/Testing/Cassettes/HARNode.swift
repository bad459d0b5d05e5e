// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

/// A value in a HAR file, with a path such as `log.entries[3].request.url` for error messages.
struct HARNode {
    let value: JSONValue
    let path: String

    func fault(_ expected: String) -> ClientError {
        ClientError(
            .configuration, "\(path): found \(value.kindName); expected \(expected)")
    }

    func object() throws -> JSONObject {
        guard let object = value.object else { throw fault("an object") }
        return object
    }

    func member(_ name: String) throws -> HARNode? {
        guard let value = try object()[name], !value.isNull else { return nil }
        return HARNode(value: value, path: "\(path).\(name)")
    }

    func required(_ name: String) throws -> HARNode {
        if let member = try member(name) { return member }
        throw ClientError(.configuration, "\(path).\(name) is missing")
    }

    /// Returns the elements of a member, or no elements if the member is missing.
    func list(_ name: String) throws -> [HARNode] {
        guard let member = try member(name) else { return [] }
        return try member.elements()
    }

    func elements() throws -> [HARNode] {
        guard let elements = value.array else { throw fault("an array") }
        return elements.enumerated().map {
            HARNode(value: $0.element, path: "\(path)[\($0.offset)]")
        }
    }

    func text(_ name: String) throws -> String? {
        guard let member = try member(name) else { return nil }
        return try member.text()
    }

    func text() throws -> String {
        guard let text = value.string else { throw fault("a string") }
        return text
    }

    func int(_ name: String) throws -> Int? {
        guard let member = try member(name) else { return nil }
        guard let number = member.value.int else { throw member.fault("an integer") }
        return number
    }

    /// Returns the header fields of a list of names and values.
    ///
    /// Pseudo-header fields of HTTP/2 (`:status`) are omitted. A value with line breaks is split
    /// into several lines.
    func headers() throws -> HTTPHeaders {
        var headers = HTTPHeaders()
        for field in try list("headers") {
            let name = try field.required("name").text()
            if name.hasPrefix(":") { continue }
            // In Swift, CRLF is one character.
            for line in (try field.text("value") ?? "").split(
                omittingEmptySubsequences: false, whereSeparator: { $0 == "\n" || $0 == "\r\n" })
            {
                headers.appendReceived(HTTPHeaders.Name(name), String(line))
            }
            if let defect = headers.defect {
                throw ClientError(.configuration, "\(field.path): \(defect)")
            }
        }
        return headers
    }

    /// Returns the bytes of a plain or base64 text.
    func bytes(_ name: String, encodings: [String]) throws -> Data? {
        guard let text = try text(name) else { return nil }
        for key in encodings {
            guard let encoding = try self.text(key), !encoding.isEmpty else { continue }
            guard encoding.lowercased() == "base64" else {
                throw ClientError(
                    .configuration,
                    "\(path).\(key): \"\(Grammar.escaped(encoding))\" is not supported;"
                        + " expected base64")
            }
            let bare = text.filter { !$0.isWhitespace }
            guard let data = Data(base64Encoded: bare) else {
                throw ClientError(.configuration, "\(path).\(name) is not base64")
            }
            return data
        }
        return Data(text.utf8)
    }
}
