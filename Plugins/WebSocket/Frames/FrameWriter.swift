// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Writes the frames of a client (RFC 6455 §5).
enum FrameWriter {
    /// Returns a frame, masked with four random bytes of the system (RFC 6455 §5.3).
    static func frame(
        _ opcode: Opcode, _ content: Data, isFinal: Bool = true, isCompressed: Bool = false,
        mask: UInt32 = .random(in: .min ... .max)
    ) -> Data {
        let count = content.count
        let lengthBytes = count < 126 ? 0 : count < 65_536 ? 2 : 8
        var frame = Data(count: 6 + lengthBytes + count)
        unsafe frame.withUnsafeMutableBytes { frame in
            unsafe frame[0] = opcode.rawValue | (isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0)
            unsafe frame[1] =
                0x80 | (lengthBytes == 0 ? UInt8(count) : lengthBytes == 2 ? 126 : 127)
            for index in 0..<lengthBytes {
                let shift = 8 * (lengthBytes - 1 - index)
                unsafe frame[2 + index] = UInt8(truncatingIfNeeded: count >> shift)
            }
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: frame[(2 + lengthBytes)...])
            unsafe rest.storeBytes(of: mask.bigEndian, as: UInt32.self)
            let masked = unsafe UnsafeMutableRawBufferPointer(rebasing: rest[4...])
            unsafe content.withUnsafeBytes { unsafe masked.copyMemory(from: $0) }
            unsafe apply(mask, to: masked)
        }
        return frame
    }

    // The loop handles eight bytes at a time. With single bytes, the loop would take most of the
    // time of a large message.
    private static func apply(_ mask: UInt32, to bytes: UnsafeMutableRawBufferPointer) {
        let wide = (UInt64(mask) << 32 | UInt64(mask)).bigEndian
        var index = 0
        while index + 8 <= bytes.count {
            let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            unsafe bytes.storeBytes(of: word ^ wide, toByteOffset: index, as: UInt64.self)
            index += 8
        }
        while index < bytes.count {
            let shift = UInt32(24 - 8 * (index & 3))
            unsafe bytes[index] ^= UInt8(truncatingIfNeeded: mask >> shift)
            index += 1
        }
    }

    // Returns a close frame. The reason is truncated to 123 bytes at a character's end.
    static func close(_ code: WebSocket.CloseCode?, reason: String) -> Data {
        guard let code else { return frame(.close, Data()) }
        var content = Data([UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xFF)])
        for character in reason.unicodeScalars {
            let bytes = Data(String(character).utf8)
            if content.count + bytes.count > 125 { break }
            content += bytes
        }
        return frame(.close, content)
    }
}
