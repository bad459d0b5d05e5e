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

/// A protocol violation of the peer, with the close code for the answer and a description.
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
/// The reader has no side effects. The reader returns content as soon as the content arrives, and
/// checks a head as soon as the head is complete. The reader stores only the head of a frame and
/// the content of a control frame (at most 125 bytes).
struct FrameReader {
    enum Event: Equatable {
        /// The content of a message as the frame contains it. If the message is compressed, so is
        /// this content.
        case content(Data, Message, isLast: Bool)
        case ping(Data)
        case pong(Data)
        case close(WebSocket.CloseCode?, reason: String)
    }

    struct Message: Equatable {
        let isText: Bool
        let isCompressed: Bool
    }

    private enum State {
        case head
        case content(left: Int, isFinal: Bool)
        case control(Opcode, left: Int)
    }

    private var state = State.head
    // The bytes that have arrived of an incomplete head or control frame.
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

    // Adds bytes. All events of the earlier bytes must have been taken before.
    mutating func add(_ bytes: Data) { (input, position) = (bytes, bytes.startIndex) }

    /// Returns the next event, or nil if more bytes are needed.
    mutating func next() throws(Violation) -> Event? {
        while true {
            switch state {
            case .head:
                guard hasInput() else { return nil }
                kept.append(input[position])
                position += 1
                try readHead()
                if case .content(0, let isFinal) = state, let event = content(Data(), isFinal) {
                    return event
                }
            case .content(let left, let isFinal):
                guard hasInput() else { return nil }
                let part = take(left)
                state = .content(left: left - part.count, isFinal: isFinal)
                if let event = content(part, isFinal) { return event }
            case .control(let opcode, let left):
                if left > 0 {
                    guard hasInput() else { return nil }
                    let part = take(left)
                    kept += part
                    state = .control(opcode, left: left - part.count)
                    continue
                }
                let content = Data(kept)
                kept = []
                state = .head
                return try event(opcode, content)
            }
        }
    }

    // Input without unread bytes is released, because the next input may take a long time.
    private mutating func hasInput() -> Bool {
        if position == input.endIndex { add(Data()) }
        return position < input.endIndex
    }

    private mutating func take(_ count: Int) -> Data {
        let start = position
        position += min(count, input.endIndex - start)
        return input.subdata(in: start..<position)
    }

    private mutating func content(_ part: Data, _ isFinal: Bool) -> Event? {
        guard let message, case .content(let left, _) = state else { return nil }
        let isLast = left == 0 && isFinal
        if left == 0 { state = .head }
        if isLast { self.message = nil }
        return part.isEmpty && !isLast ? nil : .content(part, message, isLast: isLast)
    }

    // MARK: Heads

    private mutating func readHead() throws(Violation) {
        guard kept.count >= 2 else { return try checkFirstByte() }
        if kept.count == 2 { try checkSecondByte() }
        let short = Int(kept[1] & 0x7F)
        let size = short < 126 ? 2 : short == 126 ? 4 : 10
        guard kept.count == size else { return }
        let length = size == 2 ? UInt64(short) : kept[2...].reduce(0) { $0 << 8 | UInt64($1) }
        if length >> 63 != 0 {
            throw Violation(.protocolError, "the peer sent a frame of 2^63 bytes or more")
        }
        if size == 4 && length < 126 || size == 10 && length < 65_536 {
            throw Violation(.protocolError, "the peer wrote a length in more bytes than necessary")
        }
        guard let opcode = Opcode(rawValue: kept[0] & 0x0F) else { return }
        let isFinal = kept[0] & 0x80 != 0
        let isCompressed = kept[0] & 0x40 != 0
        kept.removeAll(keepingCapacity: true)
        if opcode.isControl {
            state = .control(opcode, left: Int(length))
            return
        }
        if opcode != .continuation {
            message = Message(isText: opcode == .text, isCompressed: isCompressed)
            messageBytes = 0
        }
        // An empty fragment counts as one byte, so that an endless number of fragments reaches the
        // limit.
        let size64 = max(length, isFinal ? 0 : 1)
        guard size64 <= UInt64(maxMessageBytes - messageBytes) else {
            throw Violation(
                .messageTooBig, "the peer sent a message of more than \(maxMessageBytes) bytes")
        }
        messageBytes += Int(size64)
        state = .content(left: Int(length), isFinal: isFinal)
    }

    private func checkFirstByte() throws(Violation) {
        let first = kept[0]
        guard let opcode = Opcode(rawValue: first & 0x0F) else {
            throw Violation(.protocolError, "the peer sent the reserved opcode \(first & 0x0F)")
        }
        let mayBeCompressed = mayBeCompressed && (opcode == .text || opcode == .binary)
        if first & (mayBeCompressed ? 0x30 : 0x70) != 0 {
            throw Violation(.protocolError, "the peer set a reserved bit that was not agreed on")
        }
        if opcode.isControl, first & 0x80 == 0 {
            throw Violation(.protocolError, "the peer sent a control frame in fragments")
        }
        if opcode == .continuation, message == nil {
            throw Violation(.protocolError, "the peer continued a message that it had not begun")
        }
        if opcode == .text || opcode == .binary, message != nil {
            throw Violation(.protocolError, "the peer began a message within another")
        }
    }

    private func checkSecondByte() throws(Violation) {
        if kept[1] & 0x80 != 0 {
            throw Violation(.protocolError, "the peer masked a frame, as only clients may")
        }
        if kept[0] & 0x08 != 0, kept[1] > 125 {
            throw Violation(.protocolError, "the peer sent a control frame of more than 125 bytes")
        }
    }

    // MARK: Control frames

    private func event(_ opcode: Opcode, _ content: Data) throws(Violation) -> Event {
        switch opcode {
        case .ping: return .ping(content)
        case .pong: return .pong(content)
        default: return try Self.close(content)
        }
    }

    private static func close(_ content: Data) throws(Violation) -> Event {
        if content.isEmpty { return .close(nil, reason: "") }
        guard content.count >= 2 else {
            throw Violation(.protocolError, "the peer sent a close code of one byte")
        }
        let code = WebSocket.CloseCode(rawValue: UInt16(content[0]) << 8 | UInt16(content[1]))
        guard code.mayBeSent else {
            throw Violation(
                .protocolError, "the peer sent the forbidden close code \(code.rawValue)")
        }
        guard let reason = String(validating: content.dropFirst(2), as: UTF8.self) else {
            throw Violation(.invalidContent, "the peer sent a close reason that is not UTF-8")
        }
        return .close(code, reason: reason)
    }
}
