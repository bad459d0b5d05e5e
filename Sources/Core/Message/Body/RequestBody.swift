// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

/// The content of a request, the length, and whether the content can be sent again.
///
/// No content is read before a transport opens the body. Data and files can be sent again. A stream
/// can be sent again if each call of the factory returns an equal sequence.
public struct RequestBody: Sendable {
    enum Source: Sendable {
        case empty
        case data(Data)
        case file(RequestBodyFile)
        case stream(RequestBodyStream)
        case parts([RequestBody])
        indirect case followed(RequestBody, RequestTrailers)
        case fault(any Error)
    }

    let source: Source

    /// The media type that is sent as `Content-Type` if the request has no such field.
    public var contentType: MediaType?

    /// No content.
    public static let empty = RequestBody(source: .empty, contentType: nil)

    private init(source: Source, contentType: MediaType?) {
        self.source = source
        self.contentType = contentType
    }

    /// Creates a body at once; if the closure throws, the call fails before anything is sent.
    public static func catching(_ make: () throws -> RequestBody) -> RequestBody {
        do {
            return try make()
        } catch {
            return RequestBody(source: .fault(error), contentType: nil)
        }
    }

    /// The error that prevented the creation of the body, or nil.
    public var fault: (any Error)? {
        guard case .fault(let error) = source else { return nil }
        return error
    }

    /// A body of bytes in memory.
    public static func data(_ data: Data, type: MediaType? = nil) -> RequestBody {
        RequestBody(source: data.isEmpty ? .empty : .data(data), contentType: type)
    }

    /// A body of UTF-8 text with the type `text/plain`.
    public static func text(_ text: String) -> RequestBody {
        let utf8 = MediaType.Parameter(name: "charset", value: "utf-8")
        return .data(Data(text.utf8), type: MediaType("text", "plain", parameters: [utf8]))
    }

    /// A body of a JSON value with the type `application/json`.
    public static func json(_ value: JSONValue) -> RequestBody { .data(value.data(), type: .json) }

    /// A body of a regular file, or of a range of the file.
    ///
    /// The file is read during the send, and is never completely in memory. If the file cannot be
    /// read, is not a regular file, or changes its size during the send, the call fails with
    /// ``ClientError/Code/upload``.
    /// - Parameters:
    ///   - url: The file. The method follows a symbolic link.
    ///   - range: The bytes to send. If nil, all bytes are sent.
    ///   - type: The media type. If nil, the type is `application/octet-stream`.
    /// - Returns: The body.
    public static func file(
        _ url: URL, range: Range<Int64>? = nil, type: MediaType? = .octetStream
    ) -> RequestBody {
        RequestBody(source: .file(RequestBodyFile(url: url, range: range)), contentType: type)
    }

    /// A body of bytes that are produced during the send.
    ///
    /// - Parameters:
    ///   - length: The number of bytes, if known. A sequence of another length fails the call.
    ///   - replayable: Whether the factory returns the same bytes in each call. If false, the body
    ///     is sent only once, and a retry or a redirect of the request stops.
    ///   - live: Whether bytes must be sent as soon as they are produced. If false, a transport
    ///     without ``TransportCapabilities/liveUpload`` first collects the bytes in a file. If
    ///     true, a transport without this capability refuses the call with
    ///     ``ClientError/Code/unsupported``.
    ///   - type: The media type, if the request names no type.
    ///   - make: Creates the sequence for each send. One task iterates the sequence. The sequence
    ///     is released when the exchange ends for any reason.
    /// - Returns: The body.
    public static func stream<Chunks: AsyncSequence & Sendable>(
        length: Int64? = nil, replayable: Bool = false, live: Bool = false, type: MediaType? = nil,
        _ make: @escaping @Sendable () throws -> Chunks
    ) -> RequestBody where Chunks.Element == Data {
        let source = RequestBodyStream(length: length, isReplayable: replayable, isLive: live) {
            RequestBodyReader(try make().makeAsyncIterator())
        }
        return RequestBody(source: .stream(source), contentType: type)
    }

    /// Joins several bodies in order.
    ///
    /// Files and data are not copied. The length is known if the lengths of all parts are known.
    /// The joined body can be sent again if all parts can be sent again.
    public static func concatenating(_ parts: [RequestBody], type: MediaType? = nil) -> RequestBody
    {
        if let fault = parts.lazy.compactMap(\.fault).first {
            return RequestBody(source: .fault(fault), contentType: nil)
        }
        if parts.contains(where: \.hasTrailers) {
            return .catching { throw RequestTrailers.notBehindPart }
        }
        let parts = parts.filter { !$0.isEmpty }
        if parts.isEmpty { return RequestBody(source: .empty, contentType: type) }
        return RequestBody(source: .parts(parts), contentType: type)
    }

    /// The number of bytes, or nil if the number is unknown before the bytes are read.
    public var length: Int64? {
        switch source {
        case .empty: 0
        case .data(let data): Int64(data.count)
        case .file(let file): try? file.extent().count64
        case .stream(let stream): stream.length
        case .parts(let parts): Self.sum(parts.map(\.length))
        case .followed(let body, _): body.length
        case .fault: nil
        }
    }

    private static func sum(_ lengths: [Int64?]) -> Int64? {
        lengths.reduce(0) { sum, length in
            guard let sum, let length else { return nil }
            let (total, overflows) = sum.addingReportingOverflow(length)
            return overflows ? nil : total
        }
    }

    /// Whether the body has no content and no trailer fields.
    public var isEmpty: Bool {
        if case .empty = source { return true }
        return false
    }

    /// Whether the body can be opened now, because the body is replayable or was not opened yet.
    ///
    /// A gate checks this property before another send of the body. Code that reads the body before
    /// a send checks ``canOpenAgain`` instead.
    public var isReplayable: Bool {
        switch source {
        case .stream(let stream): stream.canOpen
        case .parts(let parts): parts.allSatisfy(\.isReplayable)
        case .followed(let body, _): body.isReplayable
        case .empty, .data, .file, .fault: true
        }
    }

    /// Whether the body can be opened any number of times, without being consumed by a read.
    ///
    /// A gate checks this property before the gate reads the body, for example to sign the body.
    /// The value is true for data, for files, and for streams with `replayable: true`.
    public var canOpenAgain: Bool {
        switch source {
        case .stream(let stream): stream.isReplayable
        case .parts(let parts): parts.allSatisfy(\.canOpenAgain)
        case .followed(let body, _): body.canOpenAgain
        case .empty, .data, .file, .fault: true
        }
    }

    var trailerNames: [HTTPHeaders.Name] {
        guard case .followed(let body, let trailers) = source else { return [] }
        return body.trailerNames + trailers.names
    }

    /// Whether trailer fields may follow the content.
    public var hasTrailers: Bool { !trailerNames.isEmpty }

    /// Returns the same body with a handler for each chunk; an error of the handler ends a read.
    public func observed(_ handler: @escaping @Sendable (Data) throws -> Void) -> RequestBody {
        followed(
            by: RequestTrailers(names: []) {
                RequestTrailers.Run(names: [], update: handler, make: { [:] })
            })
    }

    func followed(by trailers: RequestTrailers) -> RequestBody {
        if fault != nil { return self }
        return RequestBody(source: .followed(self, trailers), contentType: contentType)
    }

    /// Whether bytes must be sent as soon as they are produced.
    public var isLive: Bool {
        switch source {
        case .stream(let stream): stream.isLive
        case .parts(let parts): parts.contains(where: \.isLive)
        case .followed(let body, _): body.isLive
        case .empty, .data, .file, .fault: false
        }
    }

    /// The bytes, or nil if the bytes are not in memory or trailer fields follow.
    public var inMemory: Data? {
        switch source {
        case .empty: Data()
        case .data(let data): data
        case .parts(let parts): Self.joined(parts)
        case .file, .stream, .followed, .fault: nil
        }
    }

    private static func joined(_ parts: [RequestBody]) -> Data? {
        var all = Data()
        for part in parts {
            guard let data = part.inMemory else { return nil }
            all.append(data)
        }
        return all
    }

    /// A segment of a body whose bytes are available before the send.
    public enum Segment: Sendable {
        /// Bytes in memory.
        case data(Data)
        /// A range of a file.
        case file(path: String, range: Range<Int64>)
    }

    /// The body as data and ranges of files, or nil if a part is a stream or trailers follow.
    /// - Throws: ``ClientError/Code/upload`` if a file is missing or is not a regular file.
    public func segments() throws -> [Segment]? {
        switch source {
        case .empty: return []
        case .data(let data): return [.data(data)]
        case .file(let file):
            let path = file.url.resolvingSymlinksInPath().path(percentEncoded: false)
            return [.file(path: path, range: try file.extent())]
        case .parts(let parts):
            var all: [Segment] = []
            for part in parts {
                guard let segments = try part.segments() else { return nil }
                all += segments
            }
            return all
        case .stream, .followed: return nil
        case .fault(let error): throw error
        }
    }

    /// Returns a range of the bytes as a separate body, without reading the earlier bytes.
    /// - Parameter range: The bytes, counted from the first byte of this body.
    /// - Returns: The body, without a copy of data or files. The result is nil for a stream, for a
    ///   body with trailer fields or a fault, and for a range beyond the length.
    public func part(_ range: Range<Int64>) -> RequestBody? {
        guard range.lowerBound >= 0, let length, range.upperBound <= length else { return nil }
        switch source {
        case .empty: return self
        case .data(let data):
            let start = data.startIndex
            return .data(
                data[(start + Int(range.lowerBound))..<(start + Int(range.upperBound))],
                type: contentType)
        case .file(let file):
            let start = file.range?.lowerBound ?? 0
            return .file(
                file.url, range: (start + range.lowerBound)..<(start + range.upperBound),
                type: contentType)
        case .parts(let parts):
            var start: Int64 = 0
            var all: [RequestBody] = []
            for part in parts {
                let end = start + (part.length ?? 0)
                let wanted = range.clamped(to: start..<end)
                if !wanted.isEmpty {
                    let own = (wanted.lowerBound - start)..<(wanted.upperBound - start)
                    guard let part = part.part(own) else { return nil }
                    all.append(part)
                }
                start = end
            }
            return .concatenating(all, type: contentType)
        case .stream, .followed, .fault: return nil
        }
    }

    /// Checks the files of the body, because a missing file must be an error before the send.
    func checkFiles() throws {
        switch source {
        case .file(let file): _ = try file.extent()
        case .parts(let parts): for part in parts { try part.checkFiles() }
        case .followed(let body, _): try body.checkFiles()
        case .empty, .data, .stream, .fault: break
        }
    }

    /// Opens the body for one send.
    /// - Returns: A reader of the chunks, for one task.
    /// - Throws: ``ClientError/Code/bodyNotReplayable`` if the body was already sent and cannot be
    ///   sent again, or ``ClientError/Code/upload`` if a file cannot be read.
    public func open() throws -> RequestBodyReader {
        switch source {
        case .empty: RequestBodyReader(data: Data())
        case .data(let data): RequestBodyReader(data: data)
        case .file(let file): try file.open()
        case .stream(let stream): try stream.open()
        case .parts(let parts):
            length.map { RequestBodyReader(parts).checked(against: $0) } ?? RequestBodyReader(parts)
        case .followed(let body, let trailers): try body.open().followed(by: trailers)
        case .fault(let error): throw error
        }
    }
}

extension RequestBody: DescriptionReflectable {
    /// The kind and size of the body, without the content.
    public var description: String {
        switch source {
        case .empty: "no content"
        case .data(let data): "\(data.count) bytes"
        case .file: "a file" + (length.map { " of \($0) bytes" } ?? "")
        case .stream(let stream): "a stream" + (stream.length.map { " of \($0) bytes" } ?? "")
        case .parts(let parts): "\(parts.count) parts" + (length.map { " of \($0) bytes" } ?? "")
        case .followed(let body, _): "\(body)" + (hasTrailers ? " and trailers" : "")
        case .fault: "a body that could not be made"
        }
    }
}
