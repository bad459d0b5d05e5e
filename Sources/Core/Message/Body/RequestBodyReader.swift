// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeSupport

/// The chunks of a request body that was opened for one send.
///
/// The reader belongs to one task. The release of the reader also releases the file or the
/// sequence.
public final class RequestBodyReader {
    private enum Source {
        case data(Data)
        case file(UnnamedFile, position: Int64)
        case sequence(any AsyncIteratorProtocol)
        case ended
    }

    private var source: Source
    private var remaining: Int64?
    private var stopsAtLimit = false
    private var runs: [RequestTrailers.Run] = []

    /// The trailer fields (``RequestBody/followed(by:_:)``), which are available after
    /// ``next(isolation:)`` has returned nil.
    public private(set) var trailers: HTTPHeaders = [:]

    static let chunkBytes = 65_536

    init(data: Data) { source = data.isEmpty ? .ended : .data(data) }

    init(_ file: UnnamedFile, at position: Int64) { source = .file(file, position: position) }

    init<Iterator: AsyncIteratorProtocol>(_ iterator: Iterator) where Iterator.Element == Data {
        source = .sequence(iterator)
    }

    init(_ parts: [RequestBody]) { source = .sequence(PartIterator(rest: parts[...])) }

    func limited(to count: Int64) -> RequestBodyReader {
        remaining = count
        stopsAtLimit = true
        return self
    }

    func checked(against count: Int64) -> RequestBodyReader {
        remaining = count
        return self
    }

    func followed(by trailers: RequestTrailers) -> RequestBodyReader {
        runs.append(trailers.begin())
        return self
    }

    /// Returns the next chunk, which is never empty, or nil at the end.
    /// - Throws: The errors of the body's sequence, ``ClientError/Code/upload`` if a file or the
    ///   sequence does not have the declared length, or ``ClientError/Code/invalidRequest`` if the
    ///   body's trailers cannot be sent.
    public func next(isolation: isolated (any Actor)? = #isolation) async throws -> Data? {
        while true {
            let chunk: Data?
            switch source {
            case .ended: chunk = nil
            case .data(let data):
                source = .ended
                chunk = data
            case .file(let file, let position): chunk = try read(file, position)
            case .sequence(var iterator):
                chunk = try await Self.next(&iterator)
                source = .sequence(iterator)
            }
            guard let chunk else {
                source = .ended
                try checkEnd()
                try takeTrailers()
                return nil
            }
            if chunk.isEmpty { continue }
            try count(chunk)
            for run in runs { try run.update(chunk) }
            return chunk
        }
    }

    /// Returns the next chunk for a transport, and converts an error of the sequence into
    /// ``ClientError/Code/upload``.
    public func nextToSend(isolation: isolated (any Actor)? = #isolation) async throws -> Data? {
        do {
            return try await next()
        } catch let error as ClientError {
            throw error
        } catch let error as CancellationError where Task.isCancelled {
            throw error
        } catch {
            throw ClientError(.upload, "the request body's stream failed", underlying: error)
        }
    }

    private func takeTrailers() throws {
        let runs = runs
        self.runs = []
        for run in runs {
            for field in try run.fields() { trailers.append(field.name, field.value) }
        }
    }

    private func read(_ file: UnnamedFile, _ position: Int64) throws -> Data? {
        let wanted = min(Int64(Self.chunkBytes), remaining ?? .max)
        if wanted == 0 { return nil }
        do {
            let chunk = try file.read(upToCount: Int(wanted), at: position)
            source = .file(file, position: position + Int64(chunk.count))
            return chunk.isEmpty ? nil : chunk
        } catch {
            throw ClientError(.upload, "the file to send cannot be read", underlying: error)
        }
    }

    private func count(_ chunk: Data) throws {
        guard let due = remaining else { return }
        let left = due - Int64(chunk.count)
        if left < 0 {
            source = .ended
            throw ClientError(.upload, "the request body is longer than its declared length")
        }
        remaining = left
    }

    private func checkEnd() throws {
        guard let remaining, remaining > 0 else { return }
        throw ClientError(
            .upload,
            stopsAtLimit
                ? "the file was shortened while it was being sent"
                : "the request body is \(remaining) bytes shorter than its declared length")
    }

    private static func next<Iterator: AsyncIteratorProtocol>(
        _ iterator: inout Iterator, isolation: isolated (any Actor)? = #isolation
    ) async throws -> Data? {
        try await iterator.next(isolation: isolation) as? Data
    }
}

/// Reads several bodies in order, and opens each body when the previous body has ended.
private struct PartIterator: AsyncIteratorProtocol {
    var rest: ArraySlice<RequestBody>
    var reader: RequestBodyReader?

    mutating func next() async throws -> Data? { try await next(isolation: nil) }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
        while true {
            if let chunk = try await reader?.next(isolation: actor) { return chunk }
            guard let part = rest.popFirst() else { return nil }
            reader = try part.open()
        }
    }
}

final class RequestBodyStream: Sendable {
    let length: Int64?
    let isLive: Bool
    let isReplayable: Bool
    private let make: @Sendable () throws -> RequestBodyReader
    private let wasOpened = Atomic(false)

    init(
        length: Int64?, isReplayable: Bool, isLive: Bool,
        make: @escaping @Sendable () throws -> RequestBodyReader
    ) {
        self.length = length
        self.isReplayable = isReplayable
        self.isLive = isLive
        self.make = make
    }

    var canOpen: Bool { isReplayable || !wasOpened.load(ordering: .acquiring) }

    func open() throws -> RequestBodyReader {
        let wasOpened = wasOpened.exchange(true, ordering: .acquiringAndReleasing)
        if wasOpened, !isReplayable {
            throw ClientError(
                .bodyNotReplayable,
                "the request body is a stream that was already sent once; make it replayable"
            )
        }
        let reader = try make()
        return length.map { reader.checked(against: $0) } ?? reader
    }
}

struct RequestBodyFile: Sendable {
    let url: URL
    let range: Range<Int64>?

    func extent() throws -> Range<Int64> {
        let size: Int64?
        do {
            size = try UnnamedFile.size(ofRegular: url.path(percentEncoded: false))
        } catch {
            throw ClientError(.upload, "the file to send cannot be read", underlying: error)
        }
        guard let size else { throw ClientError(.upload, "the file to send is not a regular file") }
        guard let range else { return 0..<size }
        guard range.lowerBound >= 0, range.upperBound <= size else {
            throw ClientError(.upload, "the range to send extends beyond the file's \(size) bytes")
        }
        return range
    }

    func open() throws -> RequestBodyReader {
        let extent = try extent()
        do {
            let file = try UnnamedFile.reading(url.path(percentEncoded: false))
            return RequestBodyReader(file, at: extent.lowerBound).limited(to: extent.count64)
        } catch {
            throw ClientError(.upload, "the file to send cannot be read", underlying: error)
        }
    }
}
