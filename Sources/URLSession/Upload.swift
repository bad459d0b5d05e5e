// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// A request body for URLSession, with a known length, in memory or in an open file.
///
/// After a dead connection, libcurl can therefore send the body again from the start.
final class Upload: Sendable {
    enum Source: Sendable {
        case data(Data)
        case file(UnnamedFile, Range<Int64>)
        // The file is opened during the send, because a form may have thousands of files.
        case path(String, Range<Int64>)

        var length: Int64 {
            switch self {
            case .data(let data): Int64(data.count)
            case .file(_, let range), .path(_, let range): range.count64
            }
        }
    }

    private let sources: [Source]
    let context: Context?
    private let fault = Mutex<(@Sendable (ClientError) -> Void)?>(nil)
    private let sent = Atomic<Int64>(0)

    let length: Int64?

    private static let memoryLimit = 262_144
    // libcurl sends a body of this size at once.
    private static let smallLimit = 65_536

    var small: Data? {
        guard sources.count == 1, case .data(let data) = sources[0],
            data.count <= Self.smallLimit
        else { return nil }
        return data
    }

    // Prepares a body. A stream is read completely first. FoundationNetworking reads bodies on a
    // single network thread, and a stream that waits would block every request of the process.
    init(_ body: RequestBody, context: Context, limit: Int64) async throws {
        self.context = context
        if body.isEmpty {
            sources = []
        } else if let data = body.inMemory {
            sources = [.data(data)]
        } else if let segments = try body.segments() {
            sources = try segments.map { try Self.source($0, isOnly: segments.count == 1) }
        } else {
            // Reading a stream may take any time.
            sources = [
                try await context.child().running {
                    try await Self.spool(try body.open(), context: context, limit: limit)
                }
            ]
        }
        length = sources.isEmpty ? nil : sources.reduce(0) { $0 + $1.length }
    }

    private static func source(_ segment: RequestBody.Segment, isOnly: Bool) throws -> Source {
        switch segment {
        case .data(let data): return .data(data)
        case .file(let path, let range):
            do {
                // The file is opened here, because a file that cannot be opened must fail before
                // the head is sent.
                let file = try UnnamedFile.reading(path)
                return isOnly ? .file(file, range) : .path(path, range)
            } catch let fault as FileFault {
                throw ClientError(.upload, "the file to send: \(fault)", underlying: fault)
            }
        }
    }

    private static func spool(
        _ reader: RequestBodyReader, context: Context, limit: Int64
    ) async throws -> Source {
        var head = Data()
        var file: UnnamedFile?
        var count: Int64 = 0
        while let chunk = try await reader.nextToSend() {
            try context.checkCancellation()
            guard count + Int64(chunk.count) <= limit else {
                throw ClientError(
                    .tooLarge,
                    "the request body is a stream of more than \(limit) bytes, and URLSession must"
                        + " store it before sending it; use the curl transport")
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
                    .upload, "the request body cannot be collected: \(fault)", underlying: fault)
            }
            count += Int64(chunk.count)
        }
        return file.map { .file($0, 0..<count) } ?? .data(head)
    }

    /// The largest number of bytes that one send has passed to the connection.
    var bytesSent: Int64 { sent.load(ordering: .relaxed) }

    /// Sets the handler for a file that becomes shorter during the send.
    func onFault(_ handler: @escaping @Sendable (ClientError) -> Void) {
        if !sources.isEmpty { fault.withLock { $0 = handler } }
    }

    func makeStream() -> InputStream? {
        if sources.isEmpty { return nil }
        #if canImport(FoundationNetworking)
        return UploadStream(sources: sources, upload: self)
        #else
        return InputStream(data: sources.reduce(into: Data()) { $0 += Self.content(of: $1) })
        #endif
    }

    #if !canImport(FoundationNetworking)
    private static func content(of source: Source) -> Data {
        switch source {
        case .data(let data): return data
        case .file(let file, let range):
            return (try? file.read(upToCount: Int(range.count64), at: range.lowerBound)) ?? Data()
        case .path(let path, let range):
            return content(of: (try? .file(.reading(path), range)) ?? .data(Data()))
        }
    }
    #endif

    func didSend(_ total: Int64) {
        sent.store(max(total, sent.load(ordering: .relaxed)), ordering: .relaxed)
        context?.report(.sent(bytes: total))
    }

    func countResend() { context?.report(.sentAgain) }

    func fail(_ error: ClientError) { fault.withLock { $0 }?(error) }
}
