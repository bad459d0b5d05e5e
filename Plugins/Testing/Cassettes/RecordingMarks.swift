// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeCore

/// The member `_turnpike` of an entry, for data that HAR does not define.
///
/// The presence of this member shows that this library wrote the entry.
struct RecordingMarks {
    var chunks: [Int] = []
    var isPartial = false
    /// A line for each content that could not be completely searched for secrets.
    var withheld: [String] = []

    private static let chunkLimit = 10_000

    init(chunks: [Int], isPartial: Bool, withheld: [String] = []) {
        self.chunks = chunks.count > Self.chunkLimit ? [] : chunks
        self.isPartial = isPartial
        self.withheld = withheld
    }

    init(_ node: HARNode?) throws {
        guard let node else { return }
        isPartial = try node.member("partial")?.value.bool ?? false
        withheld = try node.list("withheld").map { try $0.text() }
        chunks = try node.list("chunks").map { size in
            guard let bytes = size.value.int, bytes > 0 else { throw size.fault("a size in bytes") }
            return bytes
        }
    }

    var json: JSONValue {
        var object = JSONObject()
        if isPartial { object["partial"] = true }
        if !withheld.isEmpty { object["withheld"] = .array(withheld.map(JSONValue.string)) }
        if chunks.count > 1 { object["chunks"] = .array(chunks.map { .number(JSONNumber($0)) }) }
        return .object(object)
    }

    func response(
        _ status: HTTPStatus, _ headers: HTTPHeaders, _ body: Data
    ) -> MockResponse {
        let pieces = pieces(of: body)
        if !isPartial, pieces.count < 2 { return .status(status, headers: headers, body: body) }
        let failure = ClientError(
            .incomplete,
            "the recording of this content ends after \(body.count) bytes, where its reader"
                + " stopped; record it again",
            transfer: .init(.receiving))
        return .stream(
            pieces, status: status, headers: headers, thenThrow: isPartial ? failure : nil)
    }

    // Ignores sizes that do not match, because the content may have been edited.
    private func pieces(of body: Data) -> [Data] {
        let sum = chunks.reduce((0, false)) { sum, size in
            let (total, overflows) = sum.0.addingReportingOverflow(size)
            return (total, sum.1 || overflows)
        }
        guard sum == (body.count, false) else { return body.isEmpty ? [] : [body] }
        var rest = body[...]
        return chunks.map { size in
            defer { rest = rest.dropFirst(size) }
            return Data(rest.prefix(size))
        }
    }
}

final class ContentCollector: Sendable {
    private struct State {
        var content: Data?
        var sizes: [Int] = []
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    /// The recorded content, or nil before the first chunk.
    var content: Data? { state.withLock { $0.content } }

    var sizes: [Int] { state.withLock { $0.sizes } }

    func add(_ chunk: Data) throws {
        let isTooLarge = state.withLock { state in
            if (state.content?.count ?? 0) + chunk.count > limit { return true }
            state.content?.append(chunk)
            state.content = state.content ?? chunk
            if state.sizes.count <= 10_000 { state.sizes.append(chunk.count) }
            return false
        }
        if isTooLarge { throw Self.tooLarge(limit) }
    }

    static func tooLarge(_ limit: Int) -> ClientError {
        ClientError(
            .tooLarge,
            "a cassette records up to \(limit) bytes of one content; raise maxBytes in its options")
    }

    /// Returns the same body with recording of the sent chunks.
    func recording(_ body: RequestBody) -> RequestBody { body.observed { [self] in try add($0) } }
}
