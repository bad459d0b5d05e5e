// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Turnpike

@testable import TurnpikeCurl

/// The states of a transfer, without libcurl.
@Suite("The life of a transfer over libcurl")
struct TransferStateMachineTests {
    typealias Event = TransferStateMachine.Event
    typealias State = TransferStateMachine.State
    typealias Actions = TransferStateMachine.Actions

    /// What an event makes of a state.
    struct Transition: Sendable, CustomTestStringConvertible {
        let from: State
        let event: Event
        let to: State
        let actions: Actions

        init(_ from: State, _ event: Event, _ to: State, _ actions: Actions = []) {
            (self.from, self.event, self.to, self.actions) = (from, event, to, actions)
        }

        var testDescription: String { "\(from), \(event)" }
    }

    private static func receiving(
        _ flow: TransferStateMachine.ReadState = .flowing,
        until end: TransferStateMachine.ContentEnd = .success
    ) -> State {
        .receiving(flow, until: end)
    }

    private static func failure(_ cause: TransferStateMachine.Cause, canReopen: Bool = true)
        -> Event
    {
        .handleFailed(.init(cause: cause, canReopen: canReopen))
    }

    private static func bytes(_ count: Int, _ rest: TransferStateMachine.RequestRest = .wanted)
        -> Event
    {
        .bytesCame(count, rest: rest)
    }

    private static let ends: Actions = [.release, .leave]

    // MARK: Single transitions

    private static let beginning = [
        Transition(.new, .started, .awaitingContent),
        Transition(.awaitingContent, .contentReady, .queued, .enqueue),
        Transition(.queued, .connectAllowed, .starting, .begin),
        Transition(.starting, .handleGiven, .connecting),
        Transition(.connecting, .requestSent, .sending, .admitNext),
        Transition(.connecting, .addressRefused, .connecting, .tryNextAddress),
        Transition(.queued, .connectTimedOut, .ended, [.fail, .leave]),
        Transition(.starting, .connectTimedOut, .ended, [.fail, .leave]),
        Transition(.connecting, .connectTimedOut, .ended, ends.union(.fail)),
    ]

    private static let response = [
        Transition(.sending, .headCame(.success), receiving(), .open),
        Transition(.sending, .headCame(.bytes(9)), receiving(until: .bytes(9)), .open),
        Transition(receiving(), bytes(5), receiving(), .deliver),
        Transition(receiving(), bytes(0), receiving()),
        Transition(receiving(.paused), bytes(5), receiving(.paused), .deliver),
        Transition(
            receiving(until: .bytes(9)), bytes(5), receiving(until: .bytes(4)), .deliver),
        Transition(
            receiving(until: .bytes(9)), bytes(5, .untouched), receiving(until: .bytes(4)),
            .deliver),
        Transition(receiving(until: .bytes(5)), bytes(5), receiving(until: .bytes(0)), .deliver),
        Transition(
            receiving(until: .bytes(5)), bytes(5, .untouched), .ended,
            ends.union([.deliver, .finish])),
        Transition(
            receiving(until: .bytes(0)), bytes(0, .untouched), .ended, ends.union(.finish)),
        Transition(receiving(), bytes(5, .untouched), receiving(), .deliver),
        Transition(receiving(), bytes(5, .unwanted), .ended, ends.union([.deliver, .finish])),
        Transition(receiving(), .handleSucceeded(wasCut: false), .ended, ends.union(.finish)),
        Transition(receiving(), .handleSucceeded(wasCut: true), .ended, ends.union(.finish)),
        Transition(
            receiving(.paused), .handleSucceeded(wasCut: false), .ended, ends.union(.finish)),
        Transition(
            receiving(until: .announcedEnd), .handleSucceeded(wasCut: false), .ended,
            ends.union(.finish)),
        Transition(
            receiving(until: .announcedEnd), .handleSucceeded(wasCut: true), .ended,
            ends.union(.fail)),
        Transition(
            receiving(until: .bytes(0)), failure(.droppedContent), .ended, ends.union(.finish)),
        Transition(
            receiving(until: .bytes(1)), failure(.droppedContent), .ended, ends.union(.fail)),
        Transition(receiving(), failure(.droppedContent), .ended, ends.union(.fail)),
        Transition(receiving(until: .bytes(0)), failure(.other), .ended, ends.union(.fail)),
    ]

    private static let pauses = [
        Transition(receiving(), .readerHolds, receiving(.paused), .pause),
        Transition(receiving(), .bufferFilled, receiving(.paused)),
        Transition(receiving(.paused), .bufferFilled, receiving(.paused)),
        Transition(receiving(.paused), .readerWantsMore, receiving(), .resume),
        Transition(
            receiving(.paused, until: .bytes(7)), .readerWantsMore, receiving(until: .bytes(7)),
            .resume),
        Transition(.connecting, .contentReady, .connecting, .resumeUpload),
        Transition(.sending, .contentReady, .sending, .resumeUpload),
        Transition(receiving(), .contentReady, receiving(), .resumeUpload),
        Transition(receiving(.paused), .contentReady, receiving(.paused), .resumeUpload),
    ]

    private static let failures: [Transition] =
        [State.connecting, .sending].flatMap { state in
            [
                Transition(state, .handleSucceeded(wasCut: false), .ended, ends.union(.fail)),
                Transition(state, failure(.other), .ended, ends.union(.fail)),
                Transition(state, failure(.droppedContent), .ended, ends.union(.fail)),
                Transition(state, failure(.refused), .awaitingContent, .restart),
                Transition(
                    state, failure(.refused, canReopen: false), .ended, ends.union(.fail)),
            ]
        } + [
            Transition(
                .connecting, failure(.needs(.http2)), .awaitingContent, [.restart, .useVersion]),
            Transition(.sending, failure(.needs(.http2)), .ended, ends.union(.fail)),
            Transition(
                .sending, failure(.needs(.http1)), .awaitingContent, [.restart, .useVersion]),
            Transition(
                .sending, failure(.needs(.http1), canReopen: false), .ended, ends.union(.fail)),
            Transition(receiving(), failure(.needs(.http1)), .ended, ends.union(.fail)),
            Transition(receiving(), failure(.refused), .ended, ends.union(.fail)),
            Transition(receiving(), failure(.other), .ended, ends.union(.fail)),
            Transition(receiving(.paused), failure(.other), .ended, ends.union(.fail)),
        ]

    private static let states: [State] = [
        .new, .awaitingContent, .queued, .starting, .connecting, .sending, receiving(),
        receiving(.paused), receiving(until: .announcedEnd), receiving(until: .bytes(9)), .ended,
    ]

    // From any state but the last one.
    private static let givenUp: [Transition] = states.dropLast().flatMap { state in
        var hasHandle = false
        switch state {
        case .connecting, .sending, .receiving: hasHandle = true
        default: break
        }
        let end: Actions = hasHandle ? ends : .leave
        return [
            Transition(state, .cancelled, .ended, end),
            Transition(state, .failed, .ended, end.union(.fail)),
        ]
    }

    private static let transitions = beginning + response + pauses + failures + givenUp

    @Test("An event leads to one state, and to these actions", arguments: transitions)
    func transition(_ row: Transition) {
        var life = TransferStateMachine(state: row.from)
        #expect(life.handle(row.event) == row.actions)
        #expect(life.state == row.to)
    }

    @Test("Every other event changes nothing, and asks for nothing", arguments: states)
    func ignored(state: State) {
        let events: [Event] = [
            .started, .contentReady, .connectAllowed, .handleGiven, .requestSent,
            .headCame(.success),
            Self.bytes(5), .bufferFilled, .readerHolds, .readerWantsMore, .addressRefused,
            .handleSucceeded(wasCut: false), Self.failure(.other), .connectTimedOut, .cancelled,
            .failed,
        ]
        for event in events {
            var life = TransferStateMachine(state: state)
            let actions = life.handle(event)
            let isListed = Self.transitions.contains {
                Self.isSameKind($0.from, state) && $0.event == event
            }
            #expect(isListed || (actions.isEmpty && life.state == state), "\(event)")
        }
    }

    // Whatever tells the end of the content.
    private static func isSameKind(_ one: State, _ other: State) -> Bool {
        if case .receiving(let flow, _) = one, case .receiving(flow, _) = other { return true }
        return one == other
    }

    // MARK: Several events

    /// Leads a transfer that was sent, and failed, to where it has been sent again.
    private func sendAgain(_ life: inout TransferStateMachine) {
        for event in [Event.contentReady, .connectAllowed, .handleGiven, .requestSent] {
            _ = life.handle(event)
        }
    }

    @Test("A request that the server leaves undone begins again five times")
    func repeats() {
        var life = TransferStateMachine(state: .sending)
        for _ in 0..<5 {
            #expect(life.handle(Self.failure(.refused)) == .restart)
            sendAgain(&life)
        }
        #expect(life.handle(Self.failure(.refused)) == Self.ends.union(.fail))
    }

    @Test("Whatever order events come in, no promise is broken", arguments: 0..<10)
    func anyOrder(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var seen: Actions = []
        for order in 0..<Runs.size(1000, all: 10_000) {
            var walk = TransferWalk()
            for _ in 0..<Int.random(in: 1...40, using: &random) {
                walk.step(walk.nextEvent(&random))
            }
            walk.finish()
            if let fault = walk.fault {
                Issue.record("order \(order): \(fault) in \(walk.events)")
                return
            }
            seen.formUnion(walk.seen)
        }
        #expect(seen.rawValue == (1 << 15) - 1, "every action was asked for")
    }
}
