// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension LogRecord {
    /// The record as a line.
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

    // Rounded to microseconds.
    static func seconds(_ duration: Duration) -> JSONValue {
        JSONNumber((duration.inSeconds * 1e6).rounded() / 1e6).map(JSONValue.number) ?? .null
    }
}
