// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Turnpike

@testable import TurnpikeValkey

/// The states of a connection, without a socket.
@Suite("The life of a connection to a server")
struct ConnectionStateMachineTests {
    typealias Event = ConnectionStateMachine.Event
    typealias State = ConnectionStateMachine.State

    /// Leads a new connection to where it takes commands.
    private func ready(isSecure: Bool = false) -> ConnectionStateMachine {
        var life = ConnectionStateMachine()
        _ = life.handle(.hostFound)
        _ = life.handle(.connected(isSecure: isSecure))
        if isSecure { _ = life.handle(.secured) }
        for event in [Event.writable, .wrote(.nothing), .greeted] { _ = life.handle(event) }
        return life
    }

    private func command() -> PendingCommand {
        PendingCommand(kind: .command, reply: nil, stallsAt: 0)
    }

    @Test("A connection begins with its host and ends where it takes commands")
    func beginning() {
        var life = ConnectionStateMachine()
        let steps: [(Event, String, State)] = [
            (.hostFound, "connect", .connecting),
            (.addressFailed, "connect", .connecting),
            (.writable, "check", .connecting),
            (.connected(isSecure: true), "handshake", .securing(wantsWrite: false)),
            (.handshakeWaits(toWrite: true), "none", .securing(wantsWrite: true)),
            (.readable, "handshake", .securing(wantsWrite: true)),
            (.secured, "greet", .greeting(.blocked)),
            (.writable, "write", .greeting(.writing)),
            (.wrote(.part), "poll", .greeting(.blocked)),
            (.writable, "write", .greeting(.writing)),
            (.wrote(.nothing), "none", .greeting(.idle)),
            (.readable, "read", .greeting(.idle)),
            (.replied, "takeGreeting", .greeting(.idle)),
            (.greeted, "none", .ready(.idle)),
        ]
        for (event, action, state) in steps {
            #expect(ConnectionWalk.name(life.handle(event)) == action, "\(event)")
            #expect(life.state == state, "\(event)")
        }
    }

    @Test("Replies go to commands in their order, and one to no command is refused")
    func replies() {
        var life = ready()
        for number in 1...2 {
            var command = command()
            command.stallsAt = Int64(number)
            _ = life.handle(.submitted(command))
        }
        for number in 1...2 {
            guard case .answer(let command) = life.handle(.replied) else {
                Issue.record("no answer")
                return
            }
            #expect(command.stallsAt == Int64(number))
        }
        #expect(ConnectionWalk.name(life.handle(.replied)) == "refuse")
    }

    @Test("One thread writes at a time, and what others add meanwhile is its own")
    func oneWriter() {
        var life = ready()
        #expect(ConnectionWalk.name(life.handle(.outputReady(byCaller: true))) == "write")
        #expect(ConnectionWalk.name(life.handle(.outputReady(byCaller: true))) == "none")
        #expect(ConnectionWalk.name(life.handle(.outputReady(byCaller: false))) == "none")
        #expect(ConnectionWalk.name(life.handle(.writable)) == "none")
        #expect(ConnectionWalk.name(life.handle(.wrote(.more))) == "write")
        #expect(ConnectionWalk.name(life.handle(.wrote(.nothing))) == "none")
        #expect(life.isIdle)
    }

    @Test("A connection that is closed while a thread writes leaves the descriptor to it")
    func closedWhileWriting() {
        for event in [Event.wrote(.nothing), .wrote(.more), .wrote(.part), .writeFailed] {
            var life = ready()
            _ = life.handle(.submitted(command()))
            _ = life.handle(.outputReady(byCaller: true))
            guard case .close(let failed, let isFree) = life.handle(.closed) else {
                Issue.record("it was not closed")
                return
            }
            #expect(failed.count == 1)
            #expect(!isFree)
            #expect(life.state == .closing)
            #expect(ConnectionWalk.name(life.handle(.readable)) == "none")
            #expect(ConnectionWalk.name(life.handle(event)) == "release")
            #expect(life.state == .ended)
        }
    }

    @Test("After a failure to write nothing is written, and what came before is still read")
    func broken() {
        var life = ready(isSecure: true)
        _ = life.handle(.submitted(command()))
        _ = life.handle(.outputReady(byCaller: true))
        #expect(ConnectionWalk.name(life.handle(.writeFailed)) == "shutDown")
        #expect(ConnectionWalk.name(life.handle(.outputReady(byCaller: true))) == "none")
        #expect(ConnectionWalk.name(life.handle(.writable)) == "none")
        #expect(ConnectionWalk.name(life.handle(.readable)) == "read")
        #expect(ConnectionWalk.name(life.handle(.replied)) == "answer")
    }

    @Test("Whatever order events come in, no promise is broken", arguments: 0..<10)
    func anyOrder(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var seen: Set<String> = []
        for order in 0..<Runs.size(1000, all: 10_000) {
            var walk = ConnectionWalk()
            for _ in 0..<Int.random(in: 1...60, using: &random) {
                walk.step(walk.nextEvent(&random))
            }
            walk.finish()
            if let fault = walk.fault {
                Issue.record("order \(order): \(fault) in \(walk.events)")
                return
            }
            seen.formUnion(walk.seen)
        }
        #expect(seen.count == 14, "every action was asked for: \(seen.sorted())")
    }
}

/// One life with events in any order, and what was promised to whoever carries out its actions.
struct ConnectionWalk {
    typealias Event = ConnectionStateMachine.Event
    typealias Action = ConnectionStateMachine.Action

    private var life = ConnectionStateMachine()
    private(set) var events: [String] = []
    /// The names of the actions.
    private(set) var seen: Set<String> = []
    /// The first promise that was broken.
    private(set) var fault: String?

    private var submitted: Int64 = 0
    private var answered: Int64 = 0
    private var isConnected = false
    private var isGreeting = false
    private var isReady = false
    private var isWriting = false
    private var isBroken = false
    private var isPolled = false
    private var isClosed = false
    /// Descriptors that were closed.
    private var releases = 0

    /// The name of an action, without what it carries.
    static func name(_ action: Action) -> String {
        let text = "\(action)"
        return String(text.prefix { $0 != "(" })
    }

    /// An event, more often than not one that the state waits for, so that walks come far.
    func nextEvent(_ random: inout SeededGenerator) -> Event {
        guard Int.random(in: 0..<4, using: &random) > 0 else { return anyEvent(&random) }
        switch life.state {
        case .resolving: return .hostFound
        case .connecting: return .connected(isSecure: Bool.random(using: &random))
        case .securing: return .secured
        case .greeting(.idle): return .greeted
        case .greeting(.blocked), .ready(.blocked): return .writable
        case .greeting(.writing), .ready(.writing), .closing: return wrote(&random)
        case .ready(.idle) where Bool.random(using: &random):
            return .outputReady(byCaller: Bool.random(using: &random))
        case .ready where Bool.random(using: &random): return newCommand
        case .greeting, .ready: return .replied
        case .ended: return anyEvent(&random)
        }
    }

    private var newCommand: Event {
        .submitted(PendingCommand(kind: .command, reply: nil, stallsAt: submitted))
    }

    private func anyEvent(_ random: inout SeededGenerator) -> Event {
        switch Int.random(in: 0..<30, using: &random) {
        case 0: .closed
        case 1, 2: .writeFailed
        case 3, 4: .hostFound
        case 5, 6: .addressFailed
        case 7, 8: .connected(isSecure: Bool.random(using: &random))
        case 9, 10: .handshakeWaits(toWrite: Bool.random(using: &random))
        case 11, 12: .secured
        case 13, 14: .greeted
        case 15..<18: newCommand
        case 18..<20: .outputReady(byCaller: Bool.random(using: &random))
        case 20..<23: .writable
        case 23..<26: .readable
        case 26, 27: .replied
        default: wrote(&random)
        }
    }

    private func wrote(_ random: inout SeededGenerator) -> Event {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: .writeFailed
        case 1, 2: .wrote(.more)
        case 3, 4: .wrote(.part)
        default: .wrote(.nothing)
        }
    }

    /// Feeds an event to the life, and carries out its action as far as the promises go.
    mutating func step(_ event: Event) {
        // Only who writes tells how that went, and only a connection that is ready takes commands.
        switch event {
        case .wrote, .writeFailed: if !isWriting { return }
        case .submitted: if !isReady || isClosed { return }
        default: break
        }
        events.append("\(event)")
        let (wasOver, wasReady) = (life.state == .ended, life.isReady)
        let action = life.handle(event)
        seen.insert(Self.name(action))
        if wasOver { require(Self.name(action) == "none", "nothing happens after the end") }
        if case .submitted = event { submitted += 1 }
        note(event)
        carryOut(action, wasReady: wasReady)
        require(
            isClosed || Int64(life.pending.count) == submitted - answered,
            "a command is kept until it has its answer")
    }

    // What the one who tells of the event knows.
    private mutating func note(_ event: Event) {
        switch event {
        case .wrote(.nothing), .wrote(.part): isWriting = false
        // A closed connection has nothing more to send.
        case .wrote(.more): isWriting = false
        case .writeFailed:
            isWriting = false
            isBroken = true
        case .writable: isPolled = false
        default: break
        }
        isReady = isReady || life.isReady
    }

    private mutating func carryOut(_ action: Action, wasReady: Bool) {
        switch action {
        case .none: break
        case .connect, .check:
            require(!isConnected && !isClosed, "a connection is made once")
        case .handshake:
            require(!isGreeting && !isClosed, "the handshake comes before all else")
            isConnected = true
        case .greet:
            require(!isGreeting && !isClosed, "what comes first comes once")
            (isConnected, isGreeting) = (true, true)
        case .write:
            require(isGreeting && !isClosed, "nothing is written before or after the connection")
            require(!isWriting, "one thread writes at a time")
            require(!isBroken, "nothing is written after a failure")
            isWriting = true
        case .poll:
            require(!isPolled && !isWriting, "a writer or the thread sees to the output")
            isPolled = true
        case .read: require(isGreeting && !isClosed, "what is read is a reply")
        case .takeGreeting:
            require(!wasReady && isGreeting && !isClosed, "the first replies are the connection's")
        case .answer(let command):
            require(wasReady && !isClosed, "a reply is that of a caller's command")
            require(command.stallsAt == answered, "replies come in the order of commands")
            answered += 1
        case .refuse: require(answered == submitted, "only a reply to no command is refused")
        case .shutDown: require(isBroken && !isClosed, "a failure to write is told to the reader")
        case .close(var failed, let isFree): close(&failed, isFree)
        case .release:
            require(isClosed && !isWriting, "a descriptor is left to whoever writes")
            releases += 1
        }
    }

    private mutating func close(_ failed: inout PendingQueue, _ isFree: Bool) {
        require(!isClosed, "a connection is closed once")
        isClosed = true
        require(life.pending.isEmpty, "a closed connection keeps no command")
        require(isFree == !isWriting, "nobody closes a descriptor while a thread writes")
        if isFree { releases += 1 }
        while let command = failed.popFirst() {
            require(command.stallsAt == answered, "a command fails once, and in its order")
            answered += 1
        }
        require(answered == submitted, "no command is left without an answer")
    }

    /// Ends what has not ended.
    mutating func finish() {
        step(.closed)
        require(isClosed, "whatever its state, a connection can be closed")
        step(.wrote(.nothing))
        step(.closed)
        require(life.state == .ended, "a connection ends when nobody writes")
        require(releases == 1, "a descriptor is closed once")
        require(answered == submitted, "each command has one answer")
    }

    private mutating func require(_ isKept: Bool, _ promise: String) {
        if !isKept, fault == nil { fault = promise }
    }
}
