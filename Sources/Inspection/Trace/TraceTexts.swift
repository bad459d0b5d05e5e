// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The texts of a trace, without secrets and with limited size.
///
/// If a message of the call shows that a value is a secret, this value is hidden in all texts of
/// the trace. A server may repeat a token of the request in a header field or in an error.
final class TraceTexts {
    // The size limits in bytes for URLs and header fields, for all exchanges together and for one
    // exchange.
    private static let maxBytes = 14_336
    private static let maxBytesOfExchange = 6_144
    // The size limits in bytes for descriptions of errors, for all together and for one.
    private static let maxErrorBytes = 4_096
    private static let maxErrorLength = 1_024
    // The size limits in bytes for names, for all names together and for one name.
    private static let maxNameBytes = 4_096
    private static let maxNameLength = 128
    private static let maxBuckets = 192

    private let redaction: Redaction
    private let pass: RedactionPass
    private let allowance: Int
    private let buckets: Int
    private var names: [String: String] = [:]
    private var nameBytes = 0
    private var errors: [UInt: String] = [:]
    private var errorBytes = 0

    init(_ raw: RecordedTrace, _ redaction: Redaction) {
        var requests = raw.exchanges.map(\.request)
        if case .call(let request) = raw.spans[0].kind { requests.append(request) }
        let sections = raw.exchanges.compactMap { $0.head?.headers }
        self.redaction = redaction.hiding(secretsOf: requests, sections)
        pass = RedactionPass(self.redaction)
        let count = max(raw.exchanges.count, 1)
        allowance = min(Self.maxBytes / count, Self.maxBytesOfExchange)
        buckets = max(Self.maxBuckets / count, 1)
    }

    func name(_ text: String) -> String {
        if let name = names[text] { return name }
        let name = bounded(redaction.text(text))
        names[text] = name
        return name
    }

    func name(of request: Request) -> String {
        let url = request.targetURI.redacted(redaction)
        let start = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        let path = start.firstIndex(of: "/").map { start[$0...] } ?? "/"
        let end = path.firstIndex { $0 == "?" || $0 == "#" } ?? path.endIndex
        let name = "\(request.method) \(path[..<end])"
        if let known = names[name] { return known }
        names[name] = bounded(name)
        return names[name] ?? ""
    }

    private func bounded(_ name: String) -> String {
        let name = Self.cut(name, to: Self.maxNameLength)
        nameBytes += name.utf8.count
        return nameBytes > Self.maxNameBytes ? "…" : name
    }

    // MARK: Outcomes

    func outcome(_ outcome: RecordedTrace.Outcome) -> TraceSpan.Outcome {
        switch outcome {
        case .returned(let status): .returned(status)
        case .failed(let error):
            .failed(
                label: Self.cut(ClientError.label(of: error), to: Self.maxNameLength),
                description: description(of: error))
        case .cancelled: .cancelled
        case .dropped: .dropped
        }
    }

    // The description is stored, because an error passes through several gates and the description
    // is expensive.
    private func description(of error: any Error) -> String {
        // SAFETY: the address is only a key, and the recorded trace retains the error.
        let key = unsafe unsafeBitCast(error as any Error, to: UInt.self)
        if let text = errors[key] { return text }
        let room = min(Self.maxErrorLength, Self.maxErrorBytes - errorBytes)
        let text =
            room > 0 ? Self.cut(redaction.text(String(describing: error)), to: room) : "…"
        errorBytes += text.utf8.count
        errors[key] = text
        return text
    }

    // MARK: Exchanges

    func exchange(
        _ raw: RecordedTrace.Exchange, since begin: MonotonicInstant
    ) -> TraceExchange {
        let url = Self.cut(raw.request.targetURI.redacted(redaction), to: allowance / 3)
        let room = allowance - url.utf8.count
        let sent = fields(raw.request.headers, room: raw.head == nil ? room : room / 2)
        let times = raw.timeline
        return TraceExchange(
            method: raw.request.method, url: url, requestHeaders: sent,
            requestBodyBytes: raw.requestBodyBytes, status: raw.head?.status,
            responseHeaders: raw.head.map { fields($0.headers, room: room / 2) },
            protocolVersion: raw.head?.version, peerAddress: times.peerAddress,
            isConnectionReused: times.isConnectionReused, bytesSent: times.bodyBytesSent,
            bytesReceived: raw.bytesReceived, encodedBodyBytes: raw.encodedBodyBytes,
            chunks: raw.chunks.merged(upTo: buckets).map { bucket in
                TraceChunks(
                    start: begin.duration(to: bucket.start), end: begin.duration(to: bucket.end),
                    bytes: bucket.bytes, count: bucket.count)
            })
    }

    // If the fields take too much memory, long values are shortened, and if necessary the last
    // fields are left out.
    private func fields(_ headers: HTTPHeaders, room: Int) -> HTTPHeaders {
        let shown = headers.map {
            ($0.name.rawValue, Grammar.escaped(pass.header($0.name, $0.value)))
        }
        for limit in [Int.max, 512, 128, 32] {
            let cut = shown.map { ($0.0, Self.cut($0.1, to: limit)) }
            if Self.size(cut) <= room { return HTTPHeaders(cut) }
        }
        var rest = room
        return HTTPHeaders(
            shown.map { ($0.0, Self.cut($0.1, to: 32)) }.prefix { field in
                rest -= Self.size([field])
                return rest >= 0
            })
    }

    private static func size(_ fields: [(String, String)]) -> Int {
        fields.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count + Trace.bytesOfField }
    }

    // Texts are shortened after secrets are hidden, because the search must read whole secrets.
    private static func cut(_ text: String, to limit: Int) -> String {
        let count = text.utf8.count
        if count <= limit { return text }
        let end = "… (\(count) bytes)"
        return String(
            decoding: text.utf8.prefix(max(limit - end.utf8.count, 0)), as: UTF8.self) + end
    }
}
