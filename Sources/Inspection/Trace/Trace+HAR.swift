// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

extension [Trace] {
    /// Returns the exchanges of the traces as a HAR 1.2 file, which the developer tools of browsers
    /// can open (W3C, HTTP Archive format).
    ///
    /// Each exchange is an entry; each attempt and each hop has at least one entry. Each call is a
    /// page. An entry without a response has the status 0, and the reason in `_error`, as in files
    /// of browsers. `timings` are in milliseconds; -1 means that a phase does not apply or is
    /// unknown. The sum of the timings is `time`, without `ssl`, which is a part of `connect`. Time
    /// outside all known phases counts as `wait`.
    /// - Returns: The object, for ``/TurnpikeCore/JSONValue/data(pretty:sortedNames:)``.
    public func har() -> JSONValue {
        var log = HARFormat.log
        log["pages"] = .array(map(\.page))
        let entries = flatMap { trace in
            trace.spans.compactMap { span in
                span.exchange.map { trace.entry(of: span, $0) }
            }
        }
        // HAR 1.2 requires the entries of all calls in the order of their starts.
        let sorted = entries.sorted { $0.start < $1.start }
        log["entries"] = .array(sorted.map { .object($0.json) })
        return ["log": .object(log)]
    }
}

extension Trace {
    fileprivate var page: JSONValue {
        [
            "startedDateTime": .string(HARFormat.date(date)), "id": .string("\(id)"),
            "title": .string(spans.first?.name ?? "\(id)"), "pageTimings": [:],
        ]
    }

    fileprivate func entry(
        of span: TraceSpan, _ exchange: TraceExchange
    ) -> (start: Date, json: JSONObject) {
        let start = date.addingTimeInterval(span.start / .seconds(1))
        let timings = timings(of: span)
        var entry: JSONObject = [
            "pageref": .string("\(id)"), "startedDateTime": .string(HARFormat.date(start)),
            "time": timings.sum,
            "request": .object(
                HARFormat.request(
                    exchange.method, url: exchange.url, version: exchange.protocolVersion,
                    headers: exchange.requestHeaders, bodySize: exchange.requestBodyBytes)),
            "response": .object(
                HARFormat.response(
                    exchange.status, version: exchange.protocolVersion,
                    headers: exchange.responseHeaders ?? [:],
                    content: ["size": .number(JSONNumber(exchange.bytesReceived))],
                    bodySize: exchange.encodedBodyBytes ?? exchange.bytesReceived, now: start)),
            "cache": [:], "timings": .object(timings.json),
        ]
        if let address = exchange.peerAddress {
            let peer = TracePeer(address)
            if !peer.isPath { entry["serverIPAddress"] = .string(peer.host) }
            entry["connection"] = peer.port.map { .string("\($0)") }
        }
        if let reason = reason(of: span), var response = entry["response"]?.object {
            response["_error"] = .string(reason)
            entry["response"] = .object(response)
        }
        entry["_attempt"] = attempt(around: span).map { .number(JSONNumber($0)) }
        return (start, entry)
    }

    private func reason(of span: TraceSpan) -> String? {
        switch span.outcome {
        case .failed(let label, let description):
            description.hasPrefix(label) ? description : "\(label): \(description)"
        case .cancelled: "cancelled"
        case .dropped: span.exchange?.status == nil ? "dropped" : nil
        case nil: span.exchange?.status == nil ? "under way" : nil
        case .returned: nil
        }
    }

    func attempt(around span: TraceSpan) -> Int? {
        var place = span.parent
        while let index = place {
            if case .attempt(let number) = spans[index].kind { return number }
            place = spans[index].parent
        }
        return nil
    }

    // MARK: Timings

    private func timings(of span: TraceSpan) -> (sum: JSONValue, json: JSONObject) {
        let phases = TracePhases(of: span, in: children(of: span))
        let ssl = phases[.tls]
        let connect = phases[.connect].map { $0 + (ssl ?? .zero) } ?? ssl
        let rest = max((span.duration ?? phases.sum) - phases.sum, .zero)
        // In HAR 1.2, send, wait and receive are required and not negative.
        let parts: [(String, Duration?)] = [
            ("blocked", phases[.queue]), ("dns", phases[.resolution]), ("connect", connect),
            ("send", phases[.send] ?? .zero), ("wait", (phases[.firstByte] ?? .zero) + rest),
            ("receive", (phases[.head] ?? .zero) + (phases[.body] ?? .zero)),
        ]
        var json: JSONObject = [:]
        var sum = 0.0
        for (name, duration) in parts {
            let value = duration.map(HARFormat.milliseconds) ?? -1
            sum += max(value, 0)
            json[name] = Self.number(value)
        }
        json["ssl"] = Self.number(ssl.map(HARFormat.milliseconds) ?? -1)
        return (Self.number((sum * 1000).rounded() / 1000), json)
    }

    private static func number(_ value: Double) -> JSONValue {
        value == -1 ? -1 : JSONNumber(value).map(JSONValue.number) ?? 0
    }
}

/// Writes the objects of HAR 1.2 files that recordings and traces have in common.
///
/// The input must contain no secrets, because the methods hide no secrets.
public enum HARFormat {
    /// The members of `log`, except the entries.
    public static var log: JSONObject {
        [
            "version": "1.2",
            "creator": ["name": "Turnpike", "version": .string(LibraryVersion.current)],
        ]
    }

    /// Returns a date as ISO 8601, in UTC with milliseconds, and in the years 1 to 9999 (RFC 3339
    /// §1).
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
    ///   - url: The URL, whose fragment is left out.
    ///   - version: The HTTP version, such as `1.1`, if known.
    ///   - headers: The header fields.
    ///   - posted: The object `postData`, or nil without content.
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
    ///   - status: The status, or nil without a response; nil becomes 0.
    ///   - version: The HTTP version, such as `1.1`, if known.
    ///   - headers: The header fields.
    ///   - content: The members of `content` except `mimeType`. The member `size` is required.
    ///   - bodySize: The size in bytes of the content as sent, if known.
    ///   - now: The time when the response was received, from which the expiry of cookies is
    ///     computed.
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
