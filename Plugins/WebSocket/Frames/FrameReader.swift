// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// The kind of a frame (RFC 6455 §11.8).
enum Opcode: UInt8 {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    var isControl: Bool { rawValue >= 8 }
}

/// A protocol violation of the peer, with the close code of the client and a description.
struct Violation: Error, Equatable {
    let code: WebSocket.CloseCode
    let message: String

    init(_ code: WebSocket.CloseCode, _ message: String) {
        self.code = code
        self.message = message
    }
}

/// Reads the frames of a server from chunks that may end anywhere (RFC 6455 §5).
///
/// The reader has no side effects. Content is returned immediately, and a complete head is checked
/// immediately. The reader stores only the head of a frame and the content of a control frame (at
/// most 125 bytes).
struct FrameReader {
    enum Event: Equatable {
        /// The content of a frame. The content of a compressed message is still compressed.
        case content(Data, Message, isLast: Bool)
        case ping(Data)
        case pong(Data)
        case close(WebSocket.CloseCode?, reason: String)
    }

    struct Message: Equatable {
        let isText: Bool
        let isCompressed: Bool
    }

    private struct Frame {
        let opcode: Opcode
        let isFinal: Bool
        var left: Int
    }

    // The current frame, or nil within a head.
    private var frame: Frame?
    // The bytes of an incomplete head or control frame.
    private var kept: [UInt8] = []
    private var input = Data()
    // All input before this position was already returned.
    private var position = 0
    private var message: Message?
    private var messageBytes = 0
    private let maxMessageBytes: Int
    private let mayBeCompressed: Bool

    init(maxMessageBytes: Int, mayBeCompressed: Bool) {
        self.maxMessageBytes = maxMessageBytes
        self.mayBeCompressed = mayBeCompressed
    }

    // Adds bytes. The caller must have taken all events of the earlier bytes.
    mutating func add(_ bytes: Data) { (input, position) = (bytes, bytes.startIndex) }

    /// Returns the next event, or nil if more bytes are needed.
    mutating func next() throws(Violation) -> Event? {
        while true {
            guard var frame = self.frame else {
                guard hasInput() else { return nil }
                kept.append(input[position])
                position += 1
                self.frame = try readHead()
                continue
            }
            guard frame.left == 0 || hasInput() else { return nil }
            let part = take(frame.left)
            frame.left -= part.count
            self.frame = frame.left == 0 ? nil : frame
            if let event = try event(part, of: frame) { return event }
        }
    }

    // Empty input is released, because the next input may arrive much later.
    private mutating func hasInput() -> Bool {
        if position == input.endIndex { add(Data()) }
        return position < input.endIndex
    }

    private mutating func take(_ count: Int) -> Data {
        let start = position
        position += min(count, input.endIndex - start)
        return input.subdata(in: start..<position)
    }

    private mutating func event(_ part: Data, of frame: Frame) throws(Violation) -> Event? {
        if frame.opcode.isControl {
            kept += part
            if frame.left > 0 { return nil }
            let content = Data(kept)
            kept = []
            switch frame.opcode {
            case .ping: return .ping(content)
            case .pong: return .pong(content)
            default: return try Self.close(content)
            }
        }
        guard let message else { return nil }
        let isLast = frame.left == 0 && frame.isFinal
        if isLast { self.message = nil }
        return part.isEmpty && !isLast ? nil : .content(part, message, isLast: isLast)
    }

    // MARK: Heads

    // Returns nil if the head is not complete.
    private mutating func readHead() throws(Violation) -> Frame? {
        let opcode = try checkedOpcode()
        guard kept.count >= 2 else { return nil }
        if kept.count == 2 { try checkSecondByte() }
        let short = Int(kept[1] & 0x7F)
        let size = short < 126 ? 2 : short == 126 ? 4 : 10
        guard kept.count == size else { return nil }
        let length = size == 2 ? UInt64(short) : kept[2...].reduce(0) { $0 << 8 | UInt64($1) }
        if length >> 63 != 0 { throw Self.violation("sent a frame of 2^63 bytes or more") }
        if size == 4 && length < 126 || size == 10 && length < 65_536 {
            throw Self.violation("wrote a length in more bytes than necessary")
        }
        let isFinal = kept[0] & 0x80 != 0
        let isCompressed = kept[0] & 0x40 != 0
        kept.removeAll(keepingCapacity: true)
        let frame = Frame(opcode: opcode, isFinal: isFinal, left: Int(length))
        if opcode.isControl { return frame }
        if opcode != .continuation {
            message = Message(isText: opcode == .text, isCompressed: isCompressed)
            messageBytes = 0
        }
        // An empty fragment counts as one byte, because the number of fragments needs a limit too.
        let size64 = max(length, isFinal ? 0 : 1)
        guard size64 <= UInt64(maxMessageBytes - messageBytes) else {
            throw Violation(
                .messageTooBig, "the peer sent a message of more than \(maxMessageBytes) bytes")
        }
        messageBytes += Int(size64)
        return frame
    }

    private func checkedOpcode() throws(Violation) -> Opcode {
        let first = kept[0]
        guard let opcode = Opcode(rawValue: first & 0x0F) else {
            throw Self.violation("sent the reserved opcode \(first & 0x0F)")
        }
        let isFirst = opcode == .text || opcode == .binary
        if first & (mayBeCompressed && isFirst ? 0x30 : 0x70) != 0 {
            throw Self.violation("set a reserved bit that was not agreed on")
        }
        if opcode.isControl, first & 0x80 == 0 {
            throw Self.violation("sent a control frame in fragments")
        }
        if opcode == .continuation, message == nil {
            throw Self.violation("continued a message without a beginning")
        }
        if isFirst, message != nil { throw Self.violation("began a message within another") }
        return opcode
    }

    private func checkSecondByte() throws(Violation) {
        if kept[1] & 0x80 != 0 { throw Self.violation("masked a frame, as only clients may") }
        if kept[0] & 0x08 != 0, kept[1] > 125 {
            throw Self.violation("sent a control frame of more than 125 bytes")
        }
    }

    private static func violation(_ deed: String) -> Violation {
        Violation(.protocolError, "the peer \(deed)")
    }

    private static func close(_ content: Data) throws(Violation) -> Event {
        if content.isEmpty { return .close(nil, reason: "") }
        guard content.count >= 2 else {
            throw violation("sent a close code of one byte")
        }
        let code = WebSocket.CloseCode(rawValue: UInt16(content[0]) << 8 | UInt16(content[1]))
        guard code.mayBeSent else {
            throw violation("sent the forbidden close code \(code.rawValue)")
        }
        guard let reason = String(validating: content.dropFirst(2), as: UTF8.self) else {
            throw Violation(.invalidContent, "the peer sent a close reason that is not UTF-8")
        }
        return .close(code, reason: reason)
    }
}
