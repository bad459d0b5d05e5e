// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore
public import TurnpikeSupport

/// Writes the objects of HAR 1.2 files that recordings and traces have in common.
///
/// It redacts nothing: what it is given must be fit to be written.
public enum HARFormat {
    /// The members of `log` without its entries.
    public static var log: JSONObject {
        [
            "version": "1.2",
            "creator": ["name": "Turnpike", "version": .string(LibraryVersion.current)],
        ]
    }

    /// Returns a date as ISO 8601, in UTC with milliseconds; clamped to the years 1 to 9999, since
    /// the format has four digits (RFC 3339 §1).
    public static func date(_ date: Date) -> String {
        let last = Date(timeIntervalSince1970: 253_402_300_799)
        return min(max(date, .distantPast), last)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// Returns a time in milliseconds, rounded to microseconds.
    public static func milliseconds(_ duration: Duration) -> Double {
        (max(duration, .zero) / .microseconds(1)).rounded() / 1000
    }

    /// Returns the object of a request.
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The URL; its fragment is left out.
    ///   - version: The HTTP version, such as `1.1`, if known.
    ///   - headers: The header fields.
    ///   - posted: The object `postData`; nil without content.
    ///   - bodySize: The size of the content in bytes, if known.
    /// - Returns: The object.
    public static func request(
        _ method: HTTPMethod, url: String, version: String?, headers: HTTPHeaders,
        posted: JSONObject? = nil, bodySize: Int64?
    ) -> JSONObject {
        let url = String(Substring(url.utf8.prefix { $0 != UInt8(ascii: "#") }))
        let query = Substring(url.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst())
        let cookies = headers.values(of: .cookie).flatMap(CookieItem.list).map { item in
            FormField(name: item.name, value: item.value ?? "")
        }
        var object: JSONObject = [
            "method": .string(method.rawValue), "url": .string(url),
            "httpVersion": text(version), "cookies": list(cookies), "headers": list(headers),
            "queryString": list(FormField.parse(query)),
        ]
        object["postData"] = posted.map(JSONValue.object)
        object["headersSize"] = -1
        object["bodySize"] = .number(JSONNumber(bodySize ?? -1))
        return object
    }

    /// Returns the object of a response.
    /// - Parameters:
    ///   - status: The status; nil without a response, which is written as 0.
    ///   - version: The HTTP version, such as `1.1`, if known.
    ///   - headers: The header fields.
    ///   - content: The members of `content` beside `mimeType`; `size` is required.
    ///   - bodySize: The size of the content as it was sent, in bytes, if known.
    ///   - now: When the response was received, for cookies that expire.
    /// - Returns: The object.
    public static func response(
        _ status: HTTPStatus?, version: String?, headers: HTTPHeaders, content: JSONObject,
        bodySize: Int64?, now: Date
    ) -> JSONObject {
        var all: JSONObject = [:]
        all["size"] = content["size"]
        all["mimeType"] = .string(headers.first(.contentType) ?? "")
        for member in content { all[member.name] = member.value }
        let cookies = headers.values(of: .setCookie).map { cookie($0, now: now) }
        return [
            "status": .number(JSONNumber(status?.code ?? 0)),
            "statusText": .string(status?.reasonPhrase ?? ""), "httpVersion": text(version),
            "cookies": .array(cookies), "headers": list(headers), "content": .object(all),
            "redirectURL": .string(headers.first(.location) ?? ""), "headersSize": -1,
            "bodySize": .number(JSONNumber(bodySize ?? -1)),
        ]
    }

    /// Returns fields as a list of objects with a name and a value.
    public static func list(_ fields: [FormField]) -> JSONValue {
        .array(fields.map { ["name": .string($0.name), "value": .string($0.value)] })
    }

    private static func list(_ headers: HTTPHeaders) -> JSONValue {
        list(headers.map { FormField(name: $0.name.rawValue, value: $0.value) })
    }

    private static func text(_ version: String?) -> JSONValue {
        .string(version.map { "HTTP/" + $0 } ?? "unknown")
    }

    private static func cookie(_ line: String, now: Date) -> JSONValue {
        let items = CookieItem.list(line)
        var object: JSONObject = [
            "name": .string(items.first?.name ?? ""), "value": .string(items.first?.value ?? ""),
        ]
        for item in items.dropFirst() {
            let value = item.value ?? ""
            switch item.name.lowercased() {
            case "path": object["path"] = .string(value)
            case "domain": object["domain"] = .string(value)
            case "expires":
                object["expires"] = HTTPDate.parse(value, now: now).map { .string(date($0)) }
            case "httponly": object["httpOnly"] = true
            case "secure": object["secure"] = true
            default: continue
            }
        }
        return .object(object)
    }
}
