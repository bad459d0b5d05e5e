// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import TurnpikeCore
import TurnpikeSupport

struct ReadHead {
    let head: Exchange.Head
    /// Whether the content has no coding; if false, it may have one.
    let isPlain: Bool
}

/// The bytes of a head, which stay in memory while its fields may be read.
///
/// The lines of nearly all heads need no repair. Such lines are only checked, and the fields are
/// made when a field is read. For a response whose fields nobody reads, this saves a twentieth of
/// the instructions of a small call (`scripts/bench call`).
///
/// To remove this class: `HeadBytes.read` calls `CurlHead.opening` for all heads.
// SAFETY: the bytes are never changed, and are freed at the end.
@safe final class KeptHead: @unchecked Sendable {
    let bytes: UnsafeBufferPointer<UInt8>

    init(start: UnsafeMutableRawPointer?, count: Int) {
        unsafe bytes = UnsafeRawBufferPointer(start: start, count: count)
            .assumingMemoryBound(to: UInt8.self)
    }

    deinit { unsafe tpc_free(UnsafeMutableRawPointer(mutating: bytes.baseAddress)) }

    // Returns nil if a line is folded or bare, has a doubtful character, or declares a coding.
    func plain(_ url: URL, _ isHead: Bool) -> ReadHead? {
        var lines = unsafe HeadLines(bytes: bytes)
        guard let first = unsafe lines.next(), !lines.wasBare, let status = unsafe StatusLine(first)
        else { return nil }
        let start = lines.position
        var declared = DeclaredLength()
        while let line = unsafe lines.next(), !line.isEmpty {
            guard !lines.wasBare, let colon = unsafe line.firstIndex(of: 0x3A, from: 0),
                unsafe isPlain(line, colon)
            else { return nil }
            switch colon {
            case 14 where unsafe line.begins(with: "content-length"):
                unsafe declared.add(
                    String(
                        decoding: UnsafeBufferPointer(rebasing: line[(colon + 1)...]), as: UTF8.self
                    ))
            case 16 where unsafe line.begins(with: "content-encoding"): return nil
            case 17 where unsafe line.begins(with: "transfer-encoding"): return nil
            default: break
            }
        }
        if declared.fault != nil { return nil }
        let code = HTTPStatus(status.code)
        let hasContent = !isHead && !code.endsWithHead
        let headers = HTTPHeaders { [self] in fields(from: start) }
        return ReadHead(
            head: Exchange.Head(
                ResponseHead(status: code, headers: headers, url: url, version: status.version),
                length: hasContent ? declared.value : 0,
                encodedLength: hasContent ? declared.value : nil),
            isPlain: true)
    }

    // The lines were checked, and none of them is folded.
    private func fields(from start: Int) -> HTTPHeaders {
        var lines = unsafe HeadLines(bytes: bytes, from: start)
        var fields = FieldReader()
        while let line = unsafe lines.next(), !line.isEmpty {
            _ = unsafe fields.read(line, isContinued: false)
        }
        return fields.headers
    }

    // Whether the name has only letters, digits and hyphens, and the value has no control character
    // except HTAB. The loops have no branch (`!=` joins cases that exclude each other), so the
    // compiler handles many bytes at once.
    private func isPlain(_ line: UnsafeBufferPointer<UInt8>, _ colon: Int) -> Bool {
        var doubtful: UInt8 = colon > 0 ? 0 : 1
        for index in 0..<colon {
            let byte = unsafe line[index]
            let isWord = ((byte | 0x20) &- 0x61 < 26) != (byte &- 0x30 < 10)
            doubtful |= isWord != (byte == 0x2D) ? 0 : 1
        }
        for index in colon..<line.count {
            let byte = unsafe line[index]
            doubtful |= ((byte < 0x20) != (byte == 0x09)) != (byte == 0x7F) ? 1 : 0
        }
        return doubtful == 0
    }
}

extension UnsafeBufferPointer<UInt8> {
    // `word` must be in lower case, and not longer than the bytes.
    fileprivate func begins(with word: StaticString) -> Bool {
        word.withUTF8Buffer { word in
            word.indices.allSatisfy { unsafe Grammar.lowercased(self[$0]) == word[$0] }
        }
    }
}
