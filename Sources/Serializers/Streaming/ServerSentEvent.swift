import TurnpikeCore

/// One event of an event stream (WHATWG HTML §9.2).
public struct ServerSentEvent: Sendable, Hashable {
    /// The stream's last event ID when the event was complete; empty where none was set.
    public var id: String
    /// The event's type; `message` where none was set.
    public var type: String
    /// The data, its lines joined with LF.
    public var data: String
    /// The wait before a reconnection that the stream had asked for with this event, or nil.
    public var retry: Duration?

    /// Creates an event.
    public init(id: String = "", type: String = "message", data: String, retry: Duration? = nil) {
        self.id = id
        self.type = type
        self.data = data
        self.retry = retry
    }
}

/// Makes events of lines.
struct ServerSentEventParser {
    private let maxBytes: Int
    private var data = ""
    private var hasData = false
    private var type = ""
    private var pendingRetry: Duration?
    private var isFirstLine = true

    /// The last event ID, which a reconnection sends.
    private(set) var lastEventID: String
    // An id counts once its event is complete.
    private var pendingID: String

    /// The wait before a reconnection that the stream asked for last, or nil.
    private(set) var retry: Duration?

    init(lastEventID: String, maxBytes: Int) {
        self.lastEventID = lastEventID
        pendingID = lastEventID
        self.maxBytes = maxBytes
    }

    /// Takes a line; gives an event where the line completes one.
    mutating func take(_ line: UnsafeRawBufferPointer) throws -> ServerSentEvent? {
        var line = unsafe line
        if isFirstLine {
            isFirstLine = false
            if unsafe line.starts(with: [0xEF, 0xBB, 0xBF]) {
                unsafe line = UnsafeRawBufferPointer(rebasing: line.dropFirst(3))
            }
        }
        if unsafe line.isEmpty { return dispatch() }
        let colon = unsafe line.firstIndex(of: UInt8(ascii: ":"))
        if colon == 0 { return nil }
        let name = unsafe UnsafeRawBufferPointer(rebasing: line[..<(colon ?? line.count)])
        var value = unsafe UnsafeRawBufferPointer(
            rebasing: line[min((colon ?? line.count) + 1, line.count)...])
        if unsafe value.first == 0x20 {
            unsafe value = UnsafeRawBufferPointer(rebasing: value.dropFirst())
        }
        if unsafe name.elementsEqual("data".utf8) {
            try unsafe addData(value)
        } else if unsafe name.elementsEqual("event".utf8) {
            type = unsafe String(decoding: value, as: UTF8.self)
        } else if unsafe name.elementsEqual("id".utf8) {
            if unsafe !value.contains(0) {
                pendingID = unsafe String(decoding: value, as: UTF8.self)
            }
        } else if unsafe name.elementsEqual("retry".utf8) {
            unsafe setRetry(value)
        }
        return nil
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

    // Digits alone count, and absurd numbers do not.
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
