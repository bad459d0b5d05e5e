// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeSupport

/// A body that is made while it is sent.
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

/// A body that is a file, or a range of it.
struct RequestBodyFile: Sendable {
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
        else { throw ClientError(.upload, "the file to send is not a regular file") }
        guard let range else { return 0..<size }
        guard range.lowerBound >= 0, range.upperBound <= size else {
            throw ClientError(.upload, "the range to send extends beyond the file's \(size) bytes")
        }
        return range
    }

    func open() throws -> RequestBodyReader {
        let extent = try extent()
        do {
            // FileHandle would open it for children too.
            let path = url.path(percentEncoded: false)
            let descriptor = unsafe Foundation.open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw FileFault("open the file") }
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try handle.seek(toOffset: UInt64(extent.lowerBound))
            return RequestBodyReader(file: handle).limited(to: extent.count64)
        } catch {
            throw ClientError(.upload, "the file to send cannot be read", underlying: error)
        }
    }
}
