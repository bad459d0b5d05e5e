import Foundation
import Synchronization

/// A request's body as URLSession needs it: of a known length, in memory or in an open file, to be
/// read from the start as often as a dead connection makes libcurl send it again.
final class Upload: Sendable {
    enum Source: Sendable {
        case data(Data)
        case file(UnnamedFile, Range<Int64>)
    }

    private let source: Source?
    private let call: CallState?
    private let fault = Mutex<(@Sendable (ClientError) -> Void)?>(nil)
    private let sent = Atomic<Int64>(0)

    /// The number of bytes, or nil without a body.
    let length: Int64?

    private static let memoryLimit = 262_144

    /// Prepares a body.
    ///
    /// A stream is read to its end: FoundationNetworking reads bodies on its one network thread,
    /// where a source that waits would stop every request of the process.
    init(_ body: Body, context: Context, limit: Int64) async throws {
        call = context.call
        if body.isEmpty {
            source = nil
        } else if let data = body.inMemory {
            source = .data(data)
        } else if let (path, range) = try body.fileExtent() {
            do {
                source = .file(try UnnamedFile.reading(path), range)
            } catch let fault as FileFault {
                throw ClientError(.upload, "the file to send: \(fault)", underlying: fault)
            }
        } else {
            source = try await Self.spool(try body.open(), context: context, limit: limit)
        }
        switch source {
        case nil: length = nil
        case .data(let data): length = Int64(data.count)
        case .file(_, let range): length = range.count64
        }
    }

    private static func spool(
        _ reader: BodyReader, context: Context, limit: Int64
    ) async throws -> Source {
        var head = Data()
        var file: UnnamedFile?
        var count: Int64 = 0
        while let chunk = try await next(reader) {
            try context.checkCancellation()
            guard count + Int64(chunk.count) <= limit else {
                throw ClientError(
                    .tooLarge,
                    "the request body is a stream of more than \(limit) bytes, which URLSession needs in"
                        + " a file first; use the curl transport")
            }
            do {
                if file == nil, head.count + chunk.count <= memoryLimit {
                    head.append(chunk)
                } else {
                    if file == nil {
                        let made = try UnnamedFile.temporary()
                        try made.write(head, at: 0)
                        file = made
                    }
                    try file?.write(chunk, at: count)
                }
            } catch let fault as FileFault {
                throw ClientError(
                    .upload, "the request body is collected: \(fault)", underlying: fault)
            }
            count += Int64(chunk.count)
        }
        return file.map { .file($0, 0..<count) } ?? .data(head)
    }

    private static func next(_ reader: BodyReader) async throws -> Data? {
        do {
            return try await reader.next()
        } catch let error as ClientError {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch {
            throw ClientError(.upload, "the request body's stream failed", underlying: error)
        }
    }

    /// The most bytes that any one send has handed to the connection.
    var bytesSent: Int64 { sent.load(ordering: .relaxed) }

    /// Names who is told when the file turns out shorter than it was.
    func onFault(_ handler: @escaping @Sendable (ClientError) -> Void) {
        if source != nil { fault.withLock { $0 = handler } }
    }

    /// A fresh stream from the first byte on, or nil without a body.
    func makeStream() -> InputStream? {
        guard let source, let length else { return nil }
        #if canImport(FoundationNetworking)
        return UploadStream(source: source, length: length, upload: self)
        #else
        switch source {
        case .data(let data): return InputStream(data: data)
        case .file(let file, let range):
            let data = try? file.read(upToCount: Int(length), at: range.lowerBound)
            return InputStream(data: data ?? Data())
        }
        #endif
    }

    fileprivate func didSend(_ total: Int64) {
        sent.store(max(total, sent.load(ordering: .relaxed)), ordering: .relaxed)
        call?.record.didSend(totalBytes: total)
    }

    fileprivate func fail(_ error: ClientError) { fault.withLock { $0 }?(error) }
}

#if canImport(FoundationNetworking)
/// Reads a body on the network thread: memory and open files alone, so that it never waits for a
/// peer.
///
/// It says that bytes are available until the last one is read: a pause would be taken for the end,
/// and the body sent short.
private final class UploadStream: InputStream {
    private let source: Upload.Source
    private let length: Int64
    private let upload: Upload
    private var position: Int64 = 0
    private var status = Stream.Status.notOpen
    private var hasFailed = false

    init(source: Upload.Source, length: Int64, upload: Upload) {
        self.source = source
        self.length = length
        self.upload = upload
        super.init(data: Data())
    }

    override func open() { status = .open }
    override func close() { status = .closed }
    override var streamStatus: Stream.Status { status }
    override var streamError: (any Error)? { nil }
    override var hasBytesAvailable: Bool { position < length && !hasFailed }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>,
        length: UnsafeMutablePointer<Int>
    ) -> Bool { false }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        let wanted = Int(min(Int64(maxLength), length - position))
        guard wanted > 0 else {
            status = .atEnd
            return 0
        }
        let target = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: wanted)
        let got: Int
        switch source {
        case .data(let data):
            let start = data.startIndex + Int(position)
            unsafe data.copyBytes(to: target, from: start..<start + wanted)
            got = wanted
        case .file(let file, let range):
            got = (try? unsafe file.read(into: target, at: range.lowerBound + position)) ?? 0
        }
        if got == 0 {
            hasFailed = true
            upload.fail(ClientError(.upload, "the file became shorter while it was sent"))
            return 0
        }
        position += Int64(got)
        upload.didSend(position)
        return got
    }
}
#endif
