public import Foundation
import Synchronization

/// The content of a request: where its bytes come from, how many they are, and whether they can be
/// sent twice.
///
/// Nothing is read before a transport opens the body. Data and files can be replayed; a stream can
/// if its factory makes an equal sequence each time it is called.
public struct Body: Sendable {
    private enum Source: Sendable {
        case empty
        case data(Data)
        case file(FileSource)
        case stream(StreamSource)
        case fault(any Error)
    }

    private let source: Source

    /// The media type that is sent as `Content-Type` where the request has none.
    public var contentType: MediaType?

    /// No content.
    public static let empty = Body(source: .empty, contentType: nil)

    private init(source: Source, contentType: MediaType?) {
        self.source = source
        self.contentType = contentType
    }

    /// A body that is made now, and whose error fails the call before anything is sent.
    public static func catching(_ make: () throws -> Body) -> Body {
        do {
            return try make()
        } catch {
            return Body(source: .fault(error), contentType: nil)
        }
    }

    /// Why the body could not be made, or nil.
    package var fault: (any Error)? {
        guard case .fault(let error) = source else { return nil }
        return error
    }

    /// Bytes in memory.
    public static func data(_ data: Data, type: MediaType? = nil) -> Body {
        Body(source: data.isEmpty ? .empty : .data(data), contentType: type)
    }

    /// Text in UTF-8, as `text/plain`.
    public static func text(_ text: String) -> Body {
        let utf8 = MediaType.Parameter(name: "charset", value: "utf-8")
        return .data(Data(text.utf8), type: MediaType("text", "plain", parameters: [utf8]))
    }

    /// A JSON value, as `application/json`.
    public static func json(_ value: JSONValue) -> Body { .data(value.data(), type: .json) }

    /// A regular file, or a range of it.
    ///
    /// It is read as it is sent and never held in memory.
    ///
    /// The call fails as ``ClientError/Code/upload`` where the file cannot be read, is no regular
    /// file, or changes its size while it is sent.
    /// - Parameters:
    ///   - url: The file; a symbolic link is followed.
    ///   - range: The bytes to send; all of them without a range.
    ///   - type: The media type; `application/octet-stream` where nil.
    /// - Returns: The body.
    public static func file(
        _ url: URL, range: Range<Int64>? = nil, type: MediaType? = .octetStream
    ) -> Body {
        Body(source: .file(FileSource(url: url, range: range)), contentType: type)
    }

    /// Bytes that are made while they are sent.
    ///
    /// - Parameters:
    ///   - length: The number of bytes, where it is known; a sequence of another length fails the
    ///     call.
    ///   - replayable: Whether the factory may be called again and gives the same bytes. A body
    ///     that is not replayable is sent once: a retry or a redirect that would need it again
    ///     stops.
    ///   - live: Whether bytes must leave as they are made. Without it a transport that cannot send
    ///     live (``TransportCapabilities/liveUpload``) collects them in a file first; with it such
    ///     a transport refuses the call as ``ClientError/Code/unsupported``.
    ///   - type: The media type, where the request names none.
    ///   - make: Makes the sequence, once for each send. It is iterated by one task and dropped
    ///     when the exchange ends, however it ends.
    /// - Returns: The body.
    public static func stream<Chunks: AsyncSequence & Sendable>(
        length: Int64? = nil, replayable: Bool = false, live: Bool = false, type: MediaType? = nil,
        _ make: @escaping @Sendable () throws -> Chunks
    ) -> Body where Chunks.Element == Data {
        let source = StreamSource(length: length, isReplayable: replayable, isLive: live) {
            BodyReader(try make().makeAsyncIterator())
        }
        return Body(source: .stream(source), contentType: type)
    }

    /// The number of bytes, or nil where it is not known before they are read.
    public var length: Int64? {
        switch source {
        case .empty: 0
        case .data(let data): Int64(data.count)
        case .file(let file): try? file.extent().count64
        case .stream(let stream): stream.length
        case .fault: nil
        }
    }

    /// Whether there is no content.
    public var isEmpty: Bool {
        if case .empty = source { return true }
        return false
    }

    /// Whether the body can be opened now: it is replayable, or was not opened yet.
    public var isReplayable: Bool {
        if case .stream(let stream) = source { return stream.canOpen }
        return true
    }

    /// Whether bytes must leave as they are made.
    public var isLive: Bool {
        if case .stream(let stream) = source { return stream.isLive }
        return false
    }

    /// The bytes, where they are in memory.
    public var inMemory: Data? {
        switch source {
        case .empty: Data()
        case .data(let data): data
        case .file, .stream, .fault: nil
        }
    }

    /// The file and its range, where the body is one.
    /// - Throws: ``ClientError/Code/upload`` where the file is missing or no regular file.
    package func fileExtent() throws -> (path: String, range: Range<Int64>)? {
        guard case .file(let file) = source else { return nil }
        return (file.url.resolvingSymlinksInPath().path(percentEncoded: false), try file.extent())
    }

    /// Opens the body for one send.
    /// - Returns: A reader of its chunks, for one task.
    /// - Throws: ``ClientError/Code/bodyNotReplayable`` where the body was sent and cannot be
    ///   again, or ``ClientError/Code/upload`` where a file cannot be read.
    public func open() throws -> BodyReader {
        switch source {
        case .empty: BodyReader(data: Data())
        case .data(let data): BodyReader(data: data)
        case .file(let file): try file.open()
        case .stream(let stream): try stream.open()
        case .fault(let error): throw error
        }
    }
}

extension Body: CustomStringConvertible, CustomReflectable {
    /// The kind and size of the body, never its bytes.
    public var description: String {
        switch source {
        case .empty: "no content"
        case .data(let data): "\(data.count) bytes"
        case .file: "a file" + (length.map { " of \($0) bytes" } ?? "")
        case .stream(let stream): "a stream" + (stream.length.map { " of \($0) bytes" } ?? "")
        case .fault: "a body that could not be made"
        }
    }

    /// What a dump shows: no more than ``description``.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

private final class StreamSource: Sendable {
    let length: Int64?
    let isLive: Bool
    private let isReplayable: Bool
    private let make: @Sendable () throws -> BodyReader
    private let wasOpened = Atomic(false)

    init(
        length: Int64?, isReplayable: Bool, isLive: Bool,
        make: @escaping @Sendable () throws -> BodyReader
    ) {
        self.length = length
        self.isReplayable = isReplayable
        self.isLive = isLive
        self.make = make
    }

    var canOpen: Bool { isReplayable || !wasOpened.load(ordering: .acquiring) }

    func open() throws -> BodyReader {
        let wasOpened = wasOpened.exchange(true, ordering: .acquiringAndReleasing)
        if wasOpened, !isReplayable {
            throw ClientError(
                .bodyNotReplayable,
                "the request body is a stream that can be sent once, and it was; make it replayable"
            )
        }
        let reader = try make()
        return length.map { reader.checked(against: $0) } ?? reader
    }
}

private struct FileSource: Sendable {
    let url: URL
    let range: Range<Int64>?

    func extent() throws -> Range<Int64> {
        let path = url.resolvingSymlinksInPath().path(percentEncoded: false)
        let attributes: [FileAttributeKey: Any]
        do {
            attributes = try FileManager.default.attributesOfItem(atPath: path)
        } catch {
            throw ClientError(.upload, "the file to send cannot be read", underlying: error)
        }
        guard attributes[.type] as? FileAttributeType == .typeRegular,
            let size = (attributes[.size] as? NSNumber)?.int64Value
        else { throw ClientError(.upload, "what is to be sent is no regular file") }
        guard let range else { return 0..<size }
        guard range.lowerBound >= 0, range.upperBound <= size else {
            throw ClientError(.upload, "the range to send reaches beyond the file's \(size) bytes")
        }
        return range
    }

    func open() throws -> BodyReader {
        let extent = try extent()
        do {
            let handle = try FileHandle(forReadingFrom: url)
            try handle.seek(toOffset: UInt64(extent.lowerBound))
            return BodyReader(file: handle).limited(to: extent.count64)
        } catch {
            throw ClientError(.upload, "the file to send cannot be read", underlying: error)
        }
    }
}

extension Range<Int64> {
    package var count64: Int64 { upperBound - lowerBound }
}
