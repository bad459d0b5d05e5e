// SPDX-License-Identifier: Apache-2.0

/// The states of a transfer, and the transitions for each event.
///
/// This file has no side effects. ``CurlTransfer`` and ``TransferTable`` create the events, and
/// perform the actions that ``handle(_:)`` returns.
///
///     new ── started ──▶ awaitingContent ── contentReady ──▶ queued ── connectAllowed ──▶ starting
///      ── handleGiven ──▶ connecting ── requestSent ──▶ sending ── headCame ──▶ receiving ──▶ ended
///
/// If a transfer fails before the head and the server has certainly done nothing, `connecting` or
/// `sending` may become `awaitingContent`. In this case, the request is sent with another handle.
/// Any other end leads to `ended`, from any state.
struct TransferStateMachine {
    enum State: Equatable {
        /// The engine does not have the transfer yet.
        case new
        /// A task opens the content of the request.
        case awaitingContent
        /// The transfer waits for other transfers to the same host.
        case queued
        /// The transfer may begin, but has no handle yet.
        case starting
        /// The transfer has a handle, and the request was not sent.
        case connecting
        /// The request was sent, at least in part.
        case sending
        /// The head of the response has arrived.
        case receiving(ReadState, until: ContentEnd)
        case ended
    }

    enum ReadState: Equatable {
        case flowing
        case paused
    }

    enum ContentEnd: Equatable {
        case success
        /// The TLS connection is closed. The content is complete only if the server sent
        /// close_notify.
        case announcedEnd
        /// The content ends after this number of further bytes. The request has `Expect:
        /// 100-continue`, and libcurl may not notice the end of the response.
        case bytes(Int64)
    }

    enum Event: Equatable {
        case started
        /// The content of the request was opened, or has more to send.
        case contentReady
        case connectAllowed
        case handleGiven
        /// libcurl has a connection and sends the request.
        case requestSent
        case headCame(ContentEnd)
        case bytesCame(Int, rest: RequestRest)
        /// libcurl was paused, because enough bytes have arrived for one iteration.
        case bufferFilled
        case readerHolds
        case readerWantsMore
        /// An address of the host refused a connection. The host may have other addresses.
        case addressRefused
        /// libcurl reports a complete response, or a failure after a complete response. `wasCut`
        /// means that the TLS connection ended without a close_notify.
        case handleSucceeded(wasCut: Bool)
        case handleFailed(Failure)
        case connectTimedOut
        case cancelled
        /// The transport was shut down, or the transfer cannot begin.
        case failed
    }

    /// The state of the request's content when bytes of the response arrive.
    enum RequestRest: Equatable {
        /// All content was sent, or the server may still need the rest.
        case wanted
        /// libcurl has read nothing of the content.
        case untouched
        /// The server does not need the rest of the content.
        case unwanted
    }

    struct Failure: Equatable {
        let cause: Cause
        /// Whether the content of the request can be read again from the beginning.
        let canReopen: Bool
    }

    enum Version: Equatable {
        case http1
        case http2
    }

    enum Cause: Equatable {
        /// The server has certainly not acted on the request (RFC 9113 §8.7).
        case refused
        /// The server accepts only this version, which was not offered, or requires the version for
        /// this request (HTTP_1_1_REQUIRED, RFC 9113 §7).
        case needs(Version)
        /// libcurl has dropped the response content, because libcurl would send the request again.
        case droppedContent
        case other
    }

    /// The actions after an event.
    ///
    /// The transfer first performs its own actions (from ``open`` to ``tryNextAddress``). The table
    /// then performs the actions that affect other transfers. Transfer and table follow the order
    /// of this list. The transfer begins ``restart``, and the table completes ``restart``.
    struct Actions: OptionSet {
        let rawValue: UInt16
        static let admitNext = Actions(rawValue: 1 << 0)
        /// Free the handle, leave the queue, and open the request's content again.
        static let restart = Actions(rawValue: 1 << 1)
        /// Offer only the version that the server needs.
        static let useVersion = Actions(rawValue: 1 << 2)
        static let enqueue = Actions(rawValue: 1 << 3)
        /// Take a handle, and begin the transfer in libcurl.
        static let begin = Actions(rawValue: 1 << 4)
        static let open = Actions(rawValue: 1 << 5)
        static let deliver = Actions(rawValue: 1 << 6)
        static let finish = Actions(rawValue: 1 << 7)
        static let fail = Actions(rawValue: 1 << 8)
        static let pause = Actions(rawValue: 1 << 9)
        static let resume = Actions(rawValue: 1 << 10)
        static let resumeUpload = Actions(rawValue: 1 << 11)
        static let tryNextAddress = Actions(rawValue: 1 << 12)
        /// Release the handle, and keep a reusable handle for another transfer.
        static let release = Actions(rawValue: 1 << 13)
        /// Leave the engine, as the last action.
        static let leave = Actions(rawValue: 1 << 14)
    }

    private(set) var state: State
    /// The version that the server accepts, or nil if unknown.
    var version: Version?
    private(set) var repeats = 0

    // libcurl has the same limit for repeated requests.
    private static let maxRepeats = 5

    init(state: State = .new) { self.state = state }

    var isConnecting: Bool {
        switch state {
        case .queued, .starting, .connecting: true
        default: false
        }
    }

    // Changes the state, and returns the actions. An event without a meaning has no effect.
    mutating func handle(_ event: Event) -> Actions {
        switch (state, event) {
        case (.ended, _): return []
        case (_, .cancelled): return end()
        case (_, .failed): return end(.fail)
        case (.new, .started): return move(to: .awaitingContent)
        case (.awaitingContent, .contentReady): return move(to: .queued, .enqueue)
        case (.queued, .connectAllowed): return move(to: .starting, .begin)
        case (.starting, .handleGiven): return move(to: .connecting)
        case (.connecting, .requestSent): return move(to: .sending, .admitNext)
        case (.connecting, .addressRefused): return .tryNextAddress
        case (.queued, .connectTimedOut), (.starting, .connectTimedOut),
            (.connecting, .connectTimedOut):
            return end(.fail)
        case (.connecting, .handleFailed(let failure)), (.sending, .handleFailed(let failure)):
            return restart(after: failure) ?? end(.fail)
        case (.connecting, .handleSucceeded), (.sending, .handleSucceeded): return end(.fail)
        case (.connecting, .contentReady), (.sending, .contentReady), (.receiving, .contentReady):
            return .resumeUpload
        case (.sending, .headCame(let contentEnd)):
            return move(to: .receiving(.flowing, until: contentEnd), .open)
        case (.receiving(let readState, let contentEnd), _):
            return receive(event, readState, contentEnd)
        default: return []
        }
    }

    private mutating func receive(
        _ event: Event, _ readState: ReadState, _ contentEnd: ContentEnd
    ) -> Actions {
        switch (event, contentEnd) {
        case (.bytesCame(let count, let rest), _):
            return receive(count, rest, readState, contentEnd)
        case (.bufferFilled, _):
            return move(to: .receiving(.paused, until: contentEnd))
        case (.readerHolds, _) where readState == .flowing:
            return move(to: .receiving(.paused, until: contentEnd), .pause)
        case (.readerWantsMore, _) where readState == .paused:
            return move(to: .receiving(.flowing, until: contentEnd), .resume)
        case (.handleSucceeded(wasCut: true), .announcedEnd): return end(.fail)
        case (.handleSucceeded, _): return end(.finish)
        case (.handleFailed(let failure), .bytes(0)) where failure.cause == .droppedContent:
            return end(.finish)
        case (.handleFailed, _): return end(.fail)
        default: return []
        }
    }

    // A server may answer before the end of the request (RFC 9113 §8.1). If a server answers
    // without a 100, libcurl 8.14 ends, and 8.18 sends all content after a second.
    private mutating func receive(
        _ count: Int, _ rest: RequestRest, _ readState: ReadState, _ contentEnd: ContentEnd
    ) -> Actions {
        let delivery: Actions = count > 0 ? .deliver : []
        var contentEnd = contentEnd
        if case .bytes(let left) = contentEnd { contentEnd = .bytes(left - Int64(count)) }
        let isComplete = rest == .unwanted || (rest == .untouched && contentEnd == .bytes(0))
        if isComplete { return end(delivery.union(.finish)) }
        return move(to: .receiving(readState, until: contentEnd), delivery)
    }

    /// Restarts the transfer, or returns nil if the request must not be sent again.
    private mutating func restart(after failure: Failure) -> Actions? {
        let mayRepeat =
            switch failure.cause {
            case .refused, .needs(.http1): true
            case .needs(.http2): state == .connecting
            case .droppedContent, .other: false
            }
        guard mayRepeat, failure.canReopen, repeats < Self.maxRepeats else { return nil }
        repeats += 1
        state = .awaitingContent
        guard case .needs(let version) = failure.cause else { return .restart }
        self.version = version
        return [.restart, .useVersion]
    }

    private mutating func move(to next: State, _ actions: Actions = []) -> Actions {
        state = next
        return actions
    }

    private mutating func end(_ actions: Actions = []) -> Actions {
        defer { state = .ended }
        switch state {
        case .connecting, .sending, .receiving: return actions.union([.release, .leave])
        default: return actions.union(.leave)
        }
    }
}
