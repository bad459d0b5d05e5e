// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeSupport

/// Tells one version of a file from another.
struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let number: UInt64
    private let size: Int64
    private let times: [Int64]

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        number = UInt64(status.st_ino)
        size = Int64(status.st_size)
        #if canImport(Darwin)
        let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
        let (modified, changed) = (status.st_mtim, status.st_ctim)
        #endif
        // The time of change also tells of a writer that sets the time of modification back.
        times = [
            Int64(modified.tv_sec), Int64(modified.tv_nsec), Int64(changed.tv_sec),
            Int64(changed.tv_nsec),
        ]
    }
}

/// What one look at a file has found.
struct EndpointFileContent {
    static let maxBytes = 16 << 20
    private static let attempts = 3

    let identity: FileIdentity
    /// The content; nil if the file is the one that was known.
    let data: Data?

    /// Reads a file, unless it is a known one.
    ///
    /// Blocks its thread.
    /// - Throws: ``EndpointFault`` if it cannot be read, is not a regular file, is too large, or changes
    ///   while it is read.
    static func read(
        _ path: String, unless known: FileIdentity?
    ) throws(EndpointFault) -> EndpointFileContent {
        for _ in 0..<attempts {
            if let content = try readOnce(path, unless: known) { return content }
        }
        throw EndpointFault("it was written to while it was read")
    }

    private static func readOnce(
        _ path: String, unless known: FileIdentity?
    ) throws(EndpointFault) -> EndpointFileContent? {
        // To open a pipe would otherwise wait for its other end.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw EndpointFault(FileFault("open it")) }
        defer { close(descriptor) }
        let before = try status(descriptor)
        guard before.st_mode & S_IFMT == S_IFREG else {
            throw EndpointFault("it is not a regular file")
        }
        let identity = FileIdentity(before)
        if identity == known { return EndpointFileContent(identity: identity, data: nil) }
        let size = Int64(before.st_size)
        if size > Int64(maxBytes) { throw tooLarge(size) }
        let data = try content(of: descriptor, expecting: Int(size))
        guard FileIdentity(try status(descriptor)) == identity else { return nil }
        return EndpointFileContent(identity: identity, data: data)
    }

    private static func content(
        of descriptor: CInt, expecting size: Int
    ) throws(EndpointFault) -> Data {
        // One byte more shows that the file has grown.
        var bytes = [UInt8](repeating: 0, count: size + 1)
        var count = 0
        while count < bytes.count {
            let got = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe Foundation.read(
                    descriptor, buffer.baseAddress?.advanced(by: count), buffer.count - count)
            }
            if got == 0 { break }
            if got > 0 {
                count += got
            } else if errno != EINTR {
                throw EndpointFault(FileFault("read it"))
            }
        }
        return Data(bytes.prefix(count))
    }

    private static func status(_ descriptor: CInt) throws(EndpointFault) -> stat {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw EndpointFault(FileFault("inspect it"))
        }
        return status
    }

    private static func tooLarge(_ size: Int64) -> EndpointFault {
        EndpointFault("found \(size) bytes; expected at most \(maxBytes)")
    }
}
