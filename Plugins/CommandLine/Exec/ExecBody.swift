// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCore
import TurnpikeStackFiles

enum ExecBody {
    static func body(_ settings: Settings) -> RequestBody {
        var bodies: [RequestBody] = []
        if let text = settings.string("text") { bodies.append(.data(Data(text.utf8))) }
        if let base64 = settings.string("base64") {
            bodies.append(.data(data(base64, settings, "base64")))
        }
        if let json = settings.value("json") { bodies.append(.json(json)) }
        if let path = settings.string("file") { bodies.append(.file(URL(filePath: path))) }
        if let form = object(settings, "form") {
            bodies.append(.catching { try .form(encoding: form) })
        }
        if let list = object(settings, "propertyList") {
            bodies.append(.catching { try .propertyList(PropertyListValue(list)) })
        }
        if let stream = settings.object("stream") {
            bodies.append(Self.stream(stream))
            stream.finish()
        }
        let boundary = settings.string("boundary")
        if let parts = settings.list("multipart") {
            bodies.append(multipart(parts, boundary, settings))
        } else if boundary != nil {
            settings.issue(at: "boundary", "is only allowed with multipart")
        }
        if bodies.count > 1 { settings.issue(at: "", "more than one body was given") }
        return bodies.first ?? .empty
    }

    private static func object(_ settings: Settings, _ key: String) -> JSONValue? {
        guard let value = settings.value(key), value != .null else { return nil }
        if value.object == nil { settings.issue(at: key, "expected an object") }
        return value
    }

    private static func data(_ base64: String, _ settings: Settings, _ key: String) -> Data {
        if let data = Data(base64Encoded: base64) { return data }
        settings.issue(at: key, "the string is not base64")
        return Data()
    }

    private static func stream(_ settings: Settings) -> RequestBody {
        let data = data(settings.required("base64"), settings, "base64")
        let chunk = settings.int("chunk", default: 16_384, in: 1...Int.max)
        let failAfter = settings.optionalInt("failAfter", in: 0...Int.max)
        let replayable = settings.bool("replayable", default: false)
        return .stream(replayable: replayable) {
            ChunkedData(data: data, chunk: chunk, failAfter: failAfter)
        }
    }

    private static func multipart(
        _ parts: [JSONValue], _ boundary: String?, _ settings: Settings
    ) -> RequestBody {
        var form = MultipartFormData(boundary: boundary)
        var fault: ClientError?
        for (index, part) in parts.enumerated() {
            let place = "multipart[\(index)]"
            guard let part = part.object else {
                settings.issue(at: place, "expected an object")
                continue
            }
            let inner = settings.nested(part, at: place)
            do {
                try append(inner, to: &form)
            } catch {
                // The call reports an error of the request, which is no mistake in the line.
                fault = fault ?? error
            }
            inner.finish()
        }
        if let fault { return .catching { throw fault } }
        return .multipart(form)
    }

    private static func append(
        _ part: Settings, to form: inout MultipartFormData
    ) throws(ClientError) {
        let name: String = part.required("name")
        let filename = part.string("filename")
        let text = part.string("text")
        let base64 = part.string("base64")
        let path = part.string("file")
        let type = part.string("type")
        if [text, base64, path].compactMap(\.self).count != 1 {
            part.issue(at: "", "a part needs exactly one of text, base64 and file")
        }
        let mediaType = type.flatMap { MediaType(parsing: $0) }
        if type != nil, mediaType == nil {
            throw ClientError(.invalidRequest, "the type of a part is not a media type")
        }
        if let path {
            form.append(file: URL(filePath: path), name: name, filename: filename, type: mediaType)
        } else {
            let content = base64.map { data($0, part, "base64") } ?? Data((text ?? "").utf8)
            form.append(content, name: name, filename: filename, type: mediaType)
        }
    }
}

extension PropertyListValue {
    /// Throws for null, which a property list cannot have.
    fileprivate init(_ value: JSONValue) throws {
        switch value {
        case .null: throw ClientError(.serialization, "a property list has no null")
        case .bool(let value): self = .bool(value)
        case .string(let value): self = .string(value)
        case .number(let value):
            if value.isInteger, let value = value.int {
                self = .integer(Int64(value))
            } else if value.isInteger, let value = value.uint64 {
                self = .unsigned(value)
            } else {
                self = .real(value.double)
            }
        case .array(let elements): self = .array(try elements.map(Self.init))
        case .object(let members):
            self = .dictionary(
                Dictionary(
                    try members.map { ($0.name, try Self($0.value)) }, uniquingKeysWith: { $1 }))
        }
    }
}

private struct StreamFailure: Error, CustomStringConvertible {
    let description = "the stream failed as requested"
}

/// Bytes in chunks, with an error after `failAfter` bytes.
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
