// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Writes the frames of a client (RFC 6455 §5).
enum FrameWriter {
    /// Returns a frame, masked with four random bytes of the system (RFC 6455 §5.3).
    static func frame(
        _ opcode: Opcode, _ content: Data, isFinal: Bool = true, isCompressed: Bool = false
    ) -> Data {
        var generator = SystemRandomNumberGenerator()
        return frame(
            opcode, content, isFinal: isFinal, isCompressed: isCompressed,
            mask: UInt32(truncatingIfNeeded: generator.next()))
    }

    static func frame(
        _ opcode: Opcode, _ content: Data, isFinal: Bool, isCompressed: Bool, mask: UInt32
    ) -> Data {
        let count = content.count
        var frame = Data(capacity: count + 14)
        frame.append(opcode.rawValue | (isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0))
        switch count {
        case ..<126: frame.append(0x80 | UInt8(count))
        case ..<65_536: frame += [0x80 | 126, UInt8(count >> 8), UInt8(count & 0xFF)]
        default:
            frame.append(0x80 | 127)
            for shift in stride(from: 56, through: 0, by: -8) {
                frame.append(UInt8(truncatingIfNeeded: count >> shift))
            }
        }
        for shift in [24, 16, 8, 0] as [UInt32] {
            frame.append(UInt8(truncatingIfNeeded: mask >> shift))
        }
        let start = frame.count
        frame.append(content)
        apply(mask, to: &frame, from: start)
        return frame
    }

    // Works on eight bytes at a time; otherwise masking takes most of the time for a large message.
    private static func apply(_ mask: UInt32, to frame: inout Data, from start: Int) {
        let wide = (UInt64(mask) << 32 | UInt64(mask)).bigEndian
        unsafe frame.withUnsafeMutableBytes { bytes in
            var index = start
            while index + 8 <= bytes.count {
                let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                unsafe bytes.storeBytes(of: word ^ wide, toByteOffset: index, as: UInt64.self)
                index += 8
            }
            while index < bytes.count {
                let shift = UInt32(24 - 8 * ((index - start) & 3))
                unsafe bytes[index] ^= UInt8(truncatingIfNeeded: mask >> shift)
                index += 1
            }
        }
    }

    /// Returns a close frame. The reason is cut to 123 bytes at the end of a character.
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
