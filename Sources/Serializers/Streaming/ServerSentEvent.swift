// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// An event of an event stream (WHATWG HTML §9.2).
public struct ServerSentEvent: Sendable, Hashable {
    /// The last event ID of the stream at the end of the event, or an empty text if no ID was set.
    public var id: String
    /// The type of the event, which is `message` if the stream sets no type.
    public var type: String
    /// The data, whose lines are joined by LF.
    public var data: String
    /// The reconnection time that the stream has set with this event, or nil.
    public var retry: Duration?

    /// Creates an event.
    public init(id: String = "", type: String = "message", data: String, retry: Duration? = nil) {
        self.id = id
        self.type = type
        self.data = data
        self.retry = retry
    }
}

struct ServerSentEventParser {
    private let maxBytes: Int
    private var data = ""
    private var hasData = false
    private var type = ""
    private var pendingRetry: Duration?
    private var isFirstLine = true

    private(set) var lastEventID: String
    // An ID counts only when the event of the ID is complete.
    private var pendingID: String

    private(set) var retry: Duration?

    init(lastEventID: String, maxBytes: Int) {
        self.lastEventID = lastEventID
        pendingID = lastEventID
        self.maxBytes = maxBytes
    }

    /// Processes a line, and returns an event if the line completes an event.
    mutating func take(_ line: UnsafeRawBufferPointer) throws -> ServerSentEvent? {
        var line = unsafe line
        if isFirstLine {
            isFirstLine = false
            if unsafe line.starts(with: [0xEF, 0xBB, 0xBF]) {
                unsafe line = UnsafeRawBufferPointer(rebasing: line.dropFirst(3))
            }
        }
        if unsafe line.isEmpty { return dispatch() }
        let colon = unsafe line.prefix(6).firstIndex(of: UInt8(ascii: ":")) ?? line.count
        var start = min(colon + 1, line.count)
        if start < line.count, unsafe line[start] == 0x20 { start += 1 }
        let value = unsafe UnsafeRawBufferPointer(rebasing: line[start...])
        switch unsafe Field(line, length: colon) {
        case .data: try unsafe addData(value)
        case .event: type = unsafe String(decoding: value, as: UTF8.self)
        case .id where unsafe !value.contains(0):
            pendingID = unsafe String(decoding: value, as: UTF8.self)
        case .retry: unsafe setRetry(value)
        case .id, nil: break
        }
        return nil
    }

    private enum Field {
        case data
        case event
        case id
        case retry

        /// Creates the field that a line names, or nil for comments and unknown fields.
        init?(_ line: UnsafeRawBufferPointer, length: Int) {
            switch length {
            case 2 where unsafe line[0] == UInt8(ascii: "i") && line[1] == UInt8(ascii: "d"):
                self = .id
            case 4 where unsafe line.starts(with: "data".utf8): self = .data
            case 5 where unsafe line.starts(with: "event".utf8): self = .event
            case 5 where unsafe line.starts(with: "retry".utf8): self = .retry
            default: return nil
            }
        }
    }

    private mutating func addData(_ value: UnsafeRawBufferPointer) throws {
        if data.utf8.count + value.count > maxBytes {
            throw ClientError(
                .tooLarge, "an event is larger than \(maxBytes) bytes; raise the limit")
        }
        if hasData { data += "\n" }
        data += unsafe String(decoding: value, as: UTF8.self)
        hasData = true
    }

    // Ignores values with other characters than digits, and values of more than nine digits.
    private mutating func setRetry(_ value: UnsafeRawBufferPointer) {
        guard unsafe !value.isEmpty, unsafe value.allSatisfy({ $0 &- 0x30 < 10 }), value.count <= 9,
            let milliseconds = Int(unsafe String(decoding: value, as: UTF8.self))
        else { return }
        retry = .milliseconds(milliseconds)
        pendingRetry = retry
    }

    private mutating func dispatch() -> ServerSentEvent? {
        lastEventID = pendingID
        defer {
            data = ""
            hasData = false
            type = ""
            pendingRetry = nil
        }
        guard hasData else { return nil }
        return ServerSentEvent(
            id: lastEventID, type: type.isEmpty ? "message" : type, data: data, retry: pendingRetry)
    }
}
