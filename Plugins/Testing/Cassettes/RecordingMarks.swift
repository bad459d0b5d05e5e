import Foundation
import TurnpikeCore

/// What the format has no place for, in the entry's member `_turnpike`, which also tells that the
/// entry is ours: how the content came in chunks, whether its reader left before its end, and what of
/// it stands there by its name alone.
struct RecordingMarks {
    var chunks: [Int] = []
    var isPartial = false
    /// A line for each content, or part of one, that could not be searched for secrets.
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
            "the recording of this content ends after \(body.count) bytes, where its reader left;"
                + " record it anew",
            transfer: .init(.receiving))
        return .stream(
            pieces, status: status, headers: headers, thenThrow: isPartial ? failure : nil)
    }

    // Whoever edits the content by hand need not count.
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
