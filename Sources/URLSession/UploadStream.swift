// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

#if canImport(FoundationNetworking)
/// Reads a body on the network thread, only from memory and files, so that it never waits for a
/// peer.
///
/// The stream reports available bytes until the last byte is read. If it reported a pause,
/// FoundationNetworking would treat the pause as the end, and send a truncated body.
final class UploadStream: InputStream {
    private var rest: ArraySlice<Upload.Source>
    private let length: Int64
    private let upload: Upload
    // The position within the whole body, and the position within the current source.
    private var position: Int64 = 0
    private var offset: Int64 = 0
    private var status = Stream.Status.notOpen
    private var hasFailed = false

    init(sources: [Upload.Source], upload: Upload) {
        rest = sources[...]
        length = sources.reduce(0) { $0 + $1.length }
        self.upload = upload
        super.init(data: Data())
    }

    override func open() { status = .open }
    override func close() {
        status = .closed
        rest = []
    }
    override var streamStatus: Stream.Status { status }
    override var streamError: (any Error)? { nil }
    override var hasBytesAvailable: Bool { position < length && !hasFailed }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>,
        length: UnsafeMutablePointer<Int>
    ) -> Bool { false }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        while let source = rest.first, offset == source.length {
            rest.removeFirst()
            offset = 0
        }
        guard let source = rest.first else {
            status = .atEnd
            return 0
        }
        let wanted = Int(min(Int64(maxLength), source.length - offset))
        let target = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: wanted)
        let got = (try? unsafe read(source, into: target)) ?? 0
        if got == 0 {
            hasFailed = true
            upload.fail(ClientError(.upload, "the file was shortened while it was being sent"))
            return 0
        }
        offset += Int64(got)
        position += Int64(got)
        upload.didSend(position)
        return got
    }

    private func read(
        _ source: Upload.Source, into target: UnsafeMutableRawBufferPointer
    ) throws -> Int {
        switch source {
        case .data(let data):
            let start = data.startIndex + Int(offset)
            unsafe data.copyBytes(to: target, from: start..<start + target.count)
            return target.count
        case .file(let file, let range):
            return try unsafe file.read(into: target, at: range.lowerBound + offset)
        case .path(let path, let range):
            let opened = Upload.Source.file(try .reading(path), range)
            rest[rest.startIndex] = opened
            return try unsafe read(opened, into: target)
        }
    }
}
#endif
