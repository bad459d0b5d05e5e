// SPDX-License-Identifier: Apache-2.0

import Logging
import TurnpikeEssentials
import TurnpikeSupport

/// The logged parts of an event, with their names.
///
/// The names come from OpenTelemetry's semantic conventions (registry of attributes: `http`,
/// `server`, `url`, `error`, `exception`, `network`). Other names begin with `turnpike.`.
final class EventRules: Sendable {
    let level: @Sendable (CallEvent) -> Logger.Level?
    private let redaction: Redaction
    private let requestFields: [Field]
    private let responseFields: [Field]

    private struct Field: Sendable {
        let name: HTTPHeaders.Name
        let attribute: String
    }

    // The size limits in bytes for texts from a peer, as in `Log`.
    private static let maxMethod = 64
    private static let maxText = 4096
    private static let maxValue = 1024

    init(
        fields: [HTTPHeaders.Name], redaction: Redaction,
        level: @escaping @Sendable (CallEvent) -> Logger.Level?
    ) {
        self.level = level
        self.redaction = redaction
        func attributes(_ prefix: String) -> [Field] {
            fields.map { Field(name: $0, attribute: prefix + $0.rawValue.lowercased()) }
        }
        requestFields = attributes("http.request.header.")
        responseFields = attributes("http.response.header.")
    }

    func metadata(of event: CallEvent) -> Logger.Metadata {
        var metadata = Logger.Metadata(minimumCapacity: 16)
        metadata["turnpike.call.id"] = .stringConvertible(event.id)
        metadata["turnpike.attempt"] = .stringConvertible(event.attempt)
        if let method = event.method { describeRequest(event, method, in: &metadata) }
        if let status = event.status {
            metadata["http.response.status_code"] = .stringConvertible(status.code)
            describeFields(
                responseFields, event.responseHeaders(redaction: redaction), in: &metadata)
        }
        if event.resendCount > 0 {
            metadata["http.request.resend_count"] = .stringConvertible(event.resendCount)
        }
        describeOutcome(event, in: &metadata)
        return metadata
    }

    private func describeRequest(
        _ event: CallEvent, _ method: HTTPMethod, in metadata: inout Logger.Metadata
    ) {
        let registered = Self.registered(method)
        metadata["http.request.method"] = .string(registered ?? "_OTHER")
        if registered == nil {
            let original = Self.cut(Grammar.escaped(method.rawValue), to: Self.maxMethod)
            metadata["http.request.method_original"] = .string(original)
        }
        if let url = event.url(redaction: redaction) {
            metadata["url.full"] = .string(Self.cut(url, to: Self.maxText))
        }
        if let origin = event.origin {
            metadata["server.address"] = .string(Self.cut(origin.host, to: Self.maxValue))
            metadata["server.port"] = .stringConvertible(origin.port)
        }
        describeFields(
            requestFields, event.request(redaction: redaction)?.headers, in: &metadata)
    }

    private func describeOutcome(_ event: CallEvent, in metadata: inout Logger.Metadata) {
        var hasEnded = false
        switch event.kind {
        case .retrying(let delay, let next):
            metadata["turnpike.attempt"] = .stringConvertible(next)
            metadata["turnpike.retry.delay"] = Self.seconds(delay)
        case .note(let gate, let message):
            let shown = event.shown(message, redaction: redaction)
            metadata["turnpike.gate"] = .string(Self.cut(Grammar.escaped(gate), to: 256))
            metadata["turnpike.note"] = .string(Self.cut(shown, to: Self.maxText))
        case .bodyEnded(let end):
            hasEnded = true
            metadata["http.response.body.size"] = .stringConvertible(
                end.encodedBytes ?? end.bytes)
            metadata["turnpike.body.end"] = .string(Self.name(of: end.reason))
        case .failed: hasEnded = true
        case .began, .sent, .received, .redirecting, .responded: break
        }
        if hasEnded {
            metadata["http.client.request.duration"] = Self.seconds(event.elapsed)
            if event.status != nil, let version = event.timeline.protocolVersion {
                metadata["network.protocol.version"] = .string(version)
            }
        }
        let status = event.status?.code ?? 0
        if let type = event.errorType {
            metadata["error.type"] = .string(type)
        } else if status >= 400 {
            metadata["error.type"] = .string(String(status))
        }
        if !event.isCancellation, let text = event.errorDescription(redaction: redaction) {
            metadata["exception.message"] = .string(Self.cut(text, to: Self.maxText))
        }
    }

    private func describeFields(
        _ fields: [Field], _ headers: @autoclosure () -> HTTPHeaders?,
        in metadata: inout Logger.Metadata
    ) {
        guard !fields.isEmpty, let headers = headers() else { return }
        for field in fields {
            let values = headers.values(of: field.name)
            if values.isEmpty { continue }
            metadata[field.attribute] = .array(
                values.prefix(16).map { .string(Self.cut($0, to: Self.maxValue)) })
        }
    }

    private static func registered(_ method: HTTPMethod) -> String? {
        switch method {
        case .get, .head, .post, .put, .patch, .delete, .options, .trace, .connect, .query:
            method.rawValue
        default: nil
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

    private static func seconds(_ duration: Duration) -> Logger.MetadataValue {
        .stringConvertible(((duration / .microseconds(1)).rounded()) / 1e6)
    }

    private static func cut(_ text: String, to maxBytes: Int) -> String {
        guard text.utf8.count > maxBytes else { return text }
        return Grammar.beginning(of: text, upTo: maxBytes) + "… (\(text.utf8.count) bytes)"
    }
}
