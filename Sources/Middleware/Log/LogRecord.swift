// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

struct LogRecord {
    let time: String
    let level: Log.Level
    let event: String
    let call: String
    // The number of the attempt. For a retry, this is the number of the next attempt.
    var attempt: Int
    let elapsed: Duration
    var method: String?
    var url: String?
    var status: HTTPStatus?
    var error: String?
    var errorType: String?
    var delay: Duration?
    var bytes: Int64?
    var end: String?
    var gate: String?
    var message: String?
    var headers: [(name: String, value: String)] = []
    var content: String?
    var times: LogTimes?

    // The limits, in bytes, on texts that a peer chooses.
    private static let maxURL = 4096
    private static let maxText = 4096
    private static let maxValue = 1024
    private static let maxHeaders = 16_384

    /// Returns nil if the level does not include the event.
    init?(_ event: CallEvent, level: Log.Level, redaction: Redaction, peekBytes: Int) {
        let ownLevel = Self.level(of: event)
        guard ownLevel <= level else { return nil }
        self.level = ownLevel
        self.event = Self.name(of: event)
        time = event.date.formatted(
            .iso8601.year().month().day().time(includingFractionalSeconds: true).timeZone(
                separator: .omitted))
        call = "\(event.id)"
        attempt = event.attempt
        elapsed = event.elapsed
        status = event.status
        errorType = event.errorType
        error = event.errorDescription(redaction: redaction).map { Self.cut($0, to: Self.maxText) }
        let request = event.request(redaction: redaction)
        method = request.map { Self.cut("\($0.method)", to: 64) }
        url = request.map { Self.cut($0.url, to: Self.maxURL) }
        switch event.kind {
        case .sent:
            headers = Self.fields(request?.headers)
            content = event.requestContent(upTo: peekBytes, redaction: redaction)
        case .received:
            headers = Self.fields(event.responseHeaders(redaction: redaction))
        case .retrying(let delay, let next):
            self.delay = delay
            attempt = next
        case .note(let gate, let message):
            self.gate = Self.cut(Grammar.escaped(gate), to: 256)
            self.message = Self.cut(
                event.shown(message, redaction: redaction), to: Self.maxText)
        case .bodyEnded(let end):
            bytes = end.bytes
            self.end = Self.name(of: end.reason)
            content = event.responseContent(redaction: redaction)
        case .began, .redirecting, .responded, .failed: break
        }
        switch event.kind {
        case .failed, .bodyEnded: times = level >= .debug ? LogTimes(event.timeline) : nil
        default: break
        }
        if content?.isEmpty == true { content = nil }
    }

    // Returns the lowest level that includes an event. Every level includes failures.
    static func level(of event: CallEvent) -> Log.Level {
        switch event.kind {
        case .began, .sent, .received, .responded: .debug
        case .retrying, .redirecting, .note: .info
        case .failed: event.isCancellation ? .info : .error
        case .bodyEnded(let end):
            isFailure(end, event.status) ? .error : .info
        }
    }

    // These ends of a body are errors of an HTTP client by the conventions of OpenTelemetry.
    private static func isFailure(_ end: ResponseBodyEnd, _ status: HTTPStatus?) -> Bool {
        if case .failed = end.reason { return true }
        return (status?.code ?? 0) >= 400
    }

    private static func name(of event: CallEvent) -> String {
        switch event.kind {
        case .began: "began"
        case .sent: "sent"
        case .received: "received"
        case .retrying: "retrying"
        case .redirecting: "redirecting"
        case .note: "note"
        case .responded: "responded"
        case .failed: event.isCancellation ? "cancelled" : "failed"
        case .bodyEnded: "ended"
        }
    }

    private static func name(of reason: ResponseBodyEnd.Reason) -> String {
        switch reason {
        case .finished: "finished"
        case .cancelled: "cancelled"
        case .dropped: "dropped"
        case .failed: "failed"
        }
    }

    private static func fields(_ headers: HTTPHeaders?) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        var left = maxHeaders
        for field in headers ?? [:] {
            let name = cut("\(field.name)", to: 256)
            let value = cut(field.value, to: maxValue)
            left -= name.utf8.count + value.utf8.count
            guard left > 0 else {
                fields.append(("(more)", "\((headers?.count ?? 0) - fields.count) fields"))
                break
            }
            fields.append((name, value))
        }
        return fields
    }

    private static func cut(_ text: String, to maxBytes: Int) -> String {
        guard text.utf8.count > maxBytes else { return text }
        // If the limit is inside a Unicode scalar, the replacement character replaces that scalar.
        let kept = String(decoding: text.utf8.prefix(maxBytes), as: UTF8.self)
        return kept + "… (\(text.utf8.count) bytes)"
    }
}

/// The connection and the duration of each phase, for log lines at level debug.
struct LogTimes {
    private let timeline: Timeline

    /// Returns nil if the transport reported no times.
    init?(_ timeline: Timeline) {
        guard timeline.sent != nil else { return nil }
        self.timeline = timeline
    }

    var text: String {
        var parts: [String] = []
        if let version = timeline.protocolVersion { parts.append("HTTP/\(version)") }
        if let peer = timeline.peerAddress { parts.append(peer) }
        if let isReused = timeline.isConnectionReused {
            parts.append(isReused ? "reused" : "new")
        }
        parts += timeline.phases.map(\.text)
        return parts.isEmpty ? "" : " | " + parts.joined(separator: ", ")
    }

    var members: [(String, JSONValue)] {
        var members: [(String, JSONValue)] = []
        if let version = timeline.protocolVersion { members.append(("version", .string(version))) }
        if let peer = timeline.peerAddress { members.append(("peer", .string(peer))) }
        if let isReused = timeline.isConnectionReused {
            members.append(("reused", .bool(isReused)))
        }
        if let bytes = timeline.encodedBodyBytes {
            members.append(("encodedBytes", .number(JSONNumber(bytes))))
        }
        let times = timeline.phases.map { ($0.name, LogRecord.seconds($0.duration)) }
        if !times.isEmpty { members.append(("times", .object(JSONObject(times)))) }
        return members
    }
}

extension LogRecord {
    func line(_ format: Log.Format) -> String {
        switch format {
        case .text: "\(time) \(call) \(text)"
        case .json: "\(json)"
        }
    }

    private var text: String {
        let target = "\(method ?? "") \(url ?? "")"
        let status = status.map { "\($0)" } ?? ""
        let duration = elapsed.text
        switch event {
        case "began": return "> \(target)"
        case "sent": return "  attempt \(attempt): \(target)\(block)\(peek)"
        case "received": return "  attempt \(attempt): \(status)\(block)"
        case "retrying":
            let delay = delay?.text ?? ""
            let why = errorType ?? status
            return "  attempt \(attempt) in \(delay), because of \(why): \(target)"
        case "redirecting": return "  \(status) leads to \(target)"
        case "note": return "  \(gate ?? ""): \(message ?? "")"
        case "responded": return "< \(status) \(target)"
        case "cancelled": return "x cancelled after \(duration): \(target)\(timing)"
        case "failed": return "! \(error ?? "") after \(duration): \(target)\(timing)"
        default:
            let how =
                switch end {
                case "cancelled": ", cancelled"
                case "dropped": ", not read to its end"
                case "failed": ", broken off: \(error ?? "")"
                default: ""
                }
            let content = "\(bytes ?? 0) bytes\(how)"
            return "< \(status), \(content), after \(duration): \(target)\(timing)\(peek)"
        }
    }

    private var block: String { headers.map { " | \($0.name): \($0.value)" }.joined() }

    private var timing: String { times?.text ?? "" }

    private var peek: String { content.map { " | \($0)" } ?? "" }

    private var json: JSONValue {
        var members: [(String, JSONValue)] = [
            ("time", .string(time)), ("level", .string(level.rawValue)), ("event", .string(event)),
            ("call", .string(call)), ("attempt", .number(JSONNumber(attempt))),
        ]
        func add(_ name: String, _ text: String?) {
            if let text { members.append((name, .string(text))) }
        }
        add("method", method)
        add("url", url)
        if let status { members.append(("status", .number(JSONNumber(status.code)))) }
        add("errorType", errorType)
        add("error", error)
        add("gate", gate)
        add("message", message)
        if let delay { members.append(("delay", Self.seconds(delay))) }
        add("end", end)
        if let bytes { members.append(("bytes", .number(JSONNumber(bytes)))) }
        members.append(("elapsed", Self.seconds(elapsed)))
        members += times?.members ?? []
        if !headers.isEmpty {
            let pairs = headers.map { JSONValue.array([.string($0.name), .string($0.value)]) }
            members.append(("headers", .array(pairs)))
        }
        add("content", content)
        return .object(JSONObject(members))
    }

    // Seconds in JSON lines have microsecond precision.
    static func seconds(_ duration: Duration) -> JSONValue {
        JSONNumber((duration.inSeconds * 1e6).rounded() / 1e6).map(JSONValue.number) ?? .null
    }
}
