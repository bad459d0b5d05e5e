// SPDX-License-Identifier: Apache-2.0

import Turnpike

@testable import TurnpikeCurl

/// One life with events in any order, and what was promised to whoever carries out its actions.
struct TransferWalk {
    typealias Event = TransferStateMachine.Event
    typealias Actions = TransferStateMachine.Actions

    private var life = TransferStateMachine()
    private(set) var events: [Event] = []
    private(set) var seen: Actions = []
    /// The first promise that was broken.
    private(set) var fault: String?

    private var hasPlace = false
    private var hasHandle = false
    private var wasSent = false
    private var wasOpened = false
    private var isPaused = false
    private var isOver = false

    /// An event, more often than not one that the state waits for, so that walks come far.
    func nextEvent(_ random: inout SeededGenerator) -> Event {
        let isUsual = Int.random(in: 0..<4, using: &random) > 0
        switch life.state {
        case .new where isUsual: return .started
        case .awaitingContent where isUsual: return .contentReady
        case .queued where isUsual: return .connectAllowed
        case .starting where isUsual: return .handleGiven
        case .connecting where isUsual: return .requestSent
        case .sending where isUsual && Bool.random(using: &random):
            return .headCame(contentEnd(&random))
        default: return anyEvent(&random)
        }
    }

    private func anyEvent(_ random: inout SeededGenerator) -> Event {
        switch Int.random(in: 0..<48, using: &random) {
        case 0: .cancelled
        case 1: .failed
        case 2: .connectTimedOut
        case 3..<6: .handleSucceeded(wasCut: Bool.random(using: &random))
        case 6..<12: .handleFailed(failure(&random))
        case 12..<20: bytes(&random)
        case 20..<24: .bufferFilled
        case 24..<29: .readerHolds
        case 29..<34: .readerWantsMore
        case 34..<36: .headCame(contentEnd(&random))
        case 36..<38: .requestSent
        case 38..<40: .handleGiven
        case 40..<42: .connectAllowed
        case 42..<44: .contentReady
        case 44..<46: .addressRefused
        default: .started
        }
    }

    private func failure(_ random: inout SeededGenerator) -> TransferStateMachine.Failure {
        let causes: [TransferStateMachine.Cause] = [
            .refused, .needs(.http1), .needs(.http2), .droppedContent, .other,
        ]
        return TransferStateMachine.Failure(
            cause: causes[Int.random(in: 0..<causes.count, using: &random)],
            canReopen: Int.random(in: 0..<8, using: &random) > 0)
    }

    private func contentEnd(_ random: inout SeededGenerator) -> TransferStateMachine.ContentEnd {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: .announcedEnd
        case 1: .bytes(Int64.random(in: 0..<4, using: &random))
        default: .success
        }
    }

    private func bytes(_ random: inout SeededGenerator) -> Event {
        let rest: TransferStateMachine.RequestRest =
            switch Int.random(in: 0..<10, using: &random) {
            case 0: .unwanted
            case 1, 2: .untouched
            default: .wanted
            }
        return .bytesCame(Int.random(in: 0..<3, using: &random), rest: rest)
    }

    /// Feeds an event to the life, and carries out its actions as far as the promises go.
    mutating func step(_ event: Event) {
        events.append(event)
        let actions = life.handle(event)
        seen.formUnion(actions)
        if isOver { return require(actions.isEmpty, "nothing happens after the end") }
        if case .requestSent = event, hasHandle { wasSent = true }
        if case .bufferFilled = event, wasOpened { isPaused = true }
        if actions.contains(.restart) { restart(event) }
        if actions.contains(.enqueue) {
            require(!hasPlace, "a place in the queue is asked for once")
            hasPlace = true
        }
        if actions.contains(.begin) {
            require(hasPlace && !hasHandle && !wasSent, "it begins once, when it may")
        }
        if case .handleGiven = event, life.state == .connecting { hasHandle = true }
        if !actions.isDisjoint(with: [.resumeUpload, .tryNextAddress]) {
            require(hasHandle, "only a handle is resumed")
        }
        if actions.contains(.admitNext) {
            require(hasPlace, "who lets the next one begin has begun")
        }
        respond(actions)
        if actions.contains(.leave) { leave(actions) }
    }

    private mutating func restart(_ event: Event) {
        guard case .handleFailed(let failure) = event else {
            return require(false, "only what has failed begins again")
        }
        require(hasHandle && !wasOpened, "nothing begins again after the head")
        require(
            failure.cause == .refused || failure.cause == .needs(.http1) || !wasSent,
            "nothing is sent twice that the server may have acted on")
        (hasPlace, hasHandle, wasSent) = (false, false, false)
    }

    private mutating func respond(_ actions: Actions) {
        if actions.contains(.open) {
            require(wasSent && !wasOpened, "one head follows a request")
            wasOpened = true
        }
        if !actions.isDisjoint(with: [.deliver, .finish]) {
            require(wasOpened, "content follows a head")
        }
        if actions.contains(.pause) {
            require(!isPaused, "what is paused is not paused again")
            isPaused = true
        }
        if actions.contains(.resume) {
            require(isPaused, "only what is paused is resumed")
            isPaused = false
        }
    }

    private mutating func leave(_ actions: Actions) {
        require(
            !actions.contains(.finish) || !actions.contains(.fail), "it ends well or badly")
        require(actions.contains(.release) == hasHandle, "a handle is let go of once")
        isOver = true
    }

    /// Ends what has not ended; what is paused can still go on.
    mutating func finish() {
        if isPaused, !isOver {
            step(.readerWantsMore)
            require(!isPaused, "a pause ends when the reader wants more")
        }
        step(.cancelled)
        require(isOver, "a cancellation ends it")
        step(.cancelled)
    }

    private mutating func require(_ isKept: Bool, _ promise: String) {
        if !isKept, fault == nil { fault = promise }
    }
}
