// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCommandLine
@testable import TurnpikeCore

/// A terminal that keeps what is written to it.
final class FakeTerminal: Sendable {
    private struct State {
        var output = Data()
        var messages = ""
        var input: Data
        var isClosed = false
    }

    private let state: Mutex<State>
    private let onOutput: @Sendable (Data) -> Void

    init(input: String = "", onOutput: @escaping @Sendable (Data) -> Void = { _ in }) {
        state = Mutex(State(input: Data(input.utf8)))
        self.onOutput = onOutput
    }

    var output: Data { state.withLock { $0.output } }
    var text: String { String(decoding: output, as: UTF8.self) }
    var messages: String { state.withLock { $0.messages } }

    /// The output's lines as JSON.
    var answers: [JSONValue] {
        text.split(separator: "\n").map {
            (try? JSONValue(parsing: Data($0.utf8))) ?? .string("no JSON: \($0)")
        }
    }

    /// Lets every further write fail, as one to a closed pipe does.
    func close() { state.withLock { $0.isClosed = true } }

    func terminal(
        columns: Int? = nil, outputIsTerminal: Bool = false, hasColor: Bool = false,
        password: @escaping @Sendable (String) async throws -> String = { _ in
            throw PasswordPrompt.noTerminal
        }
    ) -> Terminal {
        Terminal(
            output: { [self] data in
                try state.withLock { state in
                    if state.isClosed {
                        throw OutputError(description: "closed", isBrokenPipe: true)
                    }
                    state.output.append(data)
                }
                onOutput(data)
            },
            messages: { [self] text in state.withLock { $0.messages += text } },
            input: { [self] count in
                state.withLock { state in
                    defer { state.input = Data(state.input.dropFirst(count)) }
                    return state.input.prefix(count)
                }
            },
            outputIsTerminal: outputIsTerminal, hasColor: hasColor, columns: columns,
            password: password)
    }
}

extension Array {
    /// The element at a position, or nil where there is none.
    subscript(at position: Int) -> Element? {
        indices.contains(position) ? self[position] : nil
    }
}

/// An input that comes in portions.
final class Feed: Sendable {
    private let rest: Mutex<Data>
    private let portion: Int

    init(_ data: Data, portion: Int) {
        rest = Mutex(data)
        self.portion = portion
    }

    func next(upTo count: Int) -> Data {
        rest.withLock { rest in
            defer { rest = Data(rest.dropFirst(min(count, portion))) }
            return rest.prefix(min(count, portion))
        }
    }
}

/// The signals that children of the tests obey.
enum Signals {
    /// Those that end a command: a process that was started so as to ignore SIGINT has children that
    /// do.
    static let ending: [Int32] = {
        var action = sigaction()
        unsafe sigaction(SIGINT, nil, &action)
        #if canImport(Darwin)
        return [SIGTERM]
        #else
        let isIgnored =
            unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
        return isIgnored ? [SIGTERM] : [SIGINT, SIGTERM]
        #endif
    }()
}
