import Foundation
import Turnpike
import TurnpikeCore

/// The request of a line of `exec`, as data.
struct ExecRequest: Sendable {
    private var method = HTTPMethod.get
    private var url = ""
    private var query = Query([])
    private var headers: [(name: String, value: String)] = []
    private var pathParameters: [String: String] = [:]
    private var body = Body.empty
    private var timeout: Duration?
    private var limits: Limits.Settings?
    private var isRetryable = false

    init() {}

    init(_ settings: Settings, options: Settings?) {
        method = HTTPMethod(settings.string("method") ?? "GET")
        url = settings.required("url")
        query = Self.query(settings)
        headers = Self.pairs(settings, "headers")
        pathParameters = Self.parameters(settings)
        body = Self.body(settings)
        guard let options else { return }
        timeout = options.optionalSeconds("timeout", orZero: true)
        isRetryable = options.bool("retryable", default: false)
        if let inner = options.object("limits") {
            limits = Limits.Settings(inner)
            inner.finish()
        }
        options.finish()
    }

    /// The call for one repetition.
    func call(_ index: Int, _ client: Client) -> Call {
        let url = url.replacing("{i}", with: String(index))
        let target = pathParameters.isEmpty ? Target(url) : Target.path(url, pathParameters)
        var headers = HTTPHeaders()
        for (name, value) in self.headers {
            headers.append(HTTPHeaders.Name(name), value.replacing("{i}", with: String(index)))
        }
        var call = client.request(method, target, query: query, headers: headers, body: body)
        if let timeout { call = call.deadline(timeout) }
        if let limits { call = call.limits(limits) }
        return isRetryable ? call.retryable() : call
    }

    // Bad names and values are the request's fault, told by the call, not the line's.
    private static func pairs(_ settings: Settings, _ key: String) -> [(
        name: String, value: String
    )] {
        (settings.list(key) ?? []).enumerated().compactMap { index, pair in
            if let name = pair[0]?.string, let value = pair[1]?.string, pair.array?.count == 2 {
                return (name, value)
            }
            settings.issue(at: "\(key)[\(index)]", "a pair [name, value] is wanted")
            return nil
        }
    }

    private static func query(_ settings: Settings) -> Query {
        switch settings.value("query") {
        case nil, .null: return Query([])
        case .object(let object):
            return Query(object.map { Query.Item($0.name, text($0.value)) })
        default: return Query(pairs(settings, "query").map { Query.Item($0.name, $0.value) })
        }
    }

    private static func text(_ value: JSONValue) -> String? {
        value == .null ? nil : value.string ?? value.description
    }

    private static func parameters(_ settings: Settings) -> [String: String] {
        guard let value = settings.value("pathParameters"), value != .null else { return [:] }
        guard let object = value.object else {
            settings.issue(at: "pathParameters", "an object is wanted")
            return [:]
        }
        return Dictionary(object.map { ($0.name, text($0.value) ?? "") }, uniquingKeysWith: { $1 })
    }

    // MARK: Bodies

    private static func body(_ settings: Settings) -> Body {
        var bodies: [Body] = []
        if let text = settings.string("text") { bodies.append(.data(Data(text.utf8))) }
        if let base64 = settings.string("base64") {
            bodies.append(.data(data(base64, settings, "base64")))
        }
        if let json = settings.value("json") { bodies.append(.json(json)) }
        if let path = settings.string("file") { bodies.append(.file(URL(filePath: path))) }
        if let stream = settings.object("stream") {
            bodies.append(Self.stream(stream))
            stream.finish()
        }
        for key in ["form", "propertyList", "multipart", "boundary"]
        where settings.value(key) != nil {
            settings.issue(at: key, "not available")
        }
        if bodies.count > 1 { settings.issue(at: "", "more than one body was given") }
        return bodies.first ?? .empty
    }

    private static func data(_ base64: String, _ settings: Settings, _ key: String) -> Data {
        if let data = Data(base64Encoded: base64) { return data }
        settings.issue(at: key, "the text is not base64")
        return Data()
    }

    private static func stream(_ settings: Settings) -> Body {
        let data = data(settings.required("base64"), settings, "base64")
        let chunk = settings.int("chunk", default: 16_384, in: 1...Int.max)
        let failAfter = settings.optionalInt("failAfter", in: 0...Int.max)
        let replayable = settings.bool("replayable", default: false)
        return .stream(replayable: replayable) {
            ChunkedData(data: data, chunk: chunk, failAfter: failAfter)
        }
    }
}

private struct StreamFailure: Error, CustomStringConvertible {
    let description = "the stream failed, as it was told to"
}

/// Bytes in chunks, which may fail on the way.
private struct ChunkedData: AsyncSequence, Sendable {
    let data: Data
    let chunk: Int
    let failAfter: Int?

    struct AsyncIterator: AsyncIteratorProtocol {
        let source: ChunkedData
        var position = 0

        mutating func next() async throws -> Data? {
            if let limit = source.failAfter, position >= limit { throw StreamFailure() }
            guard position < source.data.count else { return nil }
            var end = Swift.min(position + source.chunk, source.data.count)
            if let limit = source.failAfter { end = Swift.min(end, limit) }
            defer { position = end }
            return source.data[source.data.startIndex + position..<source.data.startIndex + end]
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: self) }
}
