// SPDX-License-Identifier: Apache-2.0

/// Gates in order, outermost first.
///
/// A list takes factories, a builder takes types:
///
/// ```swift
/// let short: Stack = [.deadline(.seconds(5)), .retry(attempts: 2)]
/// let long = Stack {
///     Deadline(.seconds(5))
///     if verbose { Log(to: .standardError) }
///     Retry(attempts: 2)
/// }
/// ```
public struct Stack: Sendable {
    /// The gates, outermost first.
    public var gates: [any Gate]

    /// Creates a stack of gates, outermost first.
    public init(_ gates: [any Gate] = []) { self.gates = gates }

    /// Creates a stack of gates, outermost first.
    public init(@StackBuilder _ content: () -> [any Gate]) { gates = content() }

    /// Returns the stack that a call with these options passes: it adds the gates of options that
    /// no gate of the stack handles (``RequestOptionKey/gate(for:)``), and lacks those that the call
    /// leaves out.
    public func completed(for options: RequestOptions) -> Stack {
        if options.isEmpty { return self }
        let gates = (try? gates.remaining(for: options)) ?? gates
        let handled = Set(gates.lazy.flatMap(\.handledOptions).map { ObjectIdentifier($0) })
        return Stack(
            options.gates(at: .outermost, unless: handled) + gates
                + options.gates(at: .innermost, unless: handled))
    }

    /// Returns the error that every call of a client with this stack fails with, or nil; see
    /// ``Client/fault``.
    public func fault(over transport: any Transport) -> ClientError? {
        Plan(gates: gates, transport: transport).fault
    }

    /// Returns the gates of `outer` around those of `inner`.
    public static func + (outer: Stack, inner: Stack) -> Stack { Stack(outer.gates + inner.gates) }
}

extension Stack: ExpressibleByArrayLiteral {
    /// Creates a stack of gates, outermost first.
    public init(arrayLiteral elements: any Gate...) { gates = elements }
}

extension Stack: CustomStringConvertible {
    /// The names of the gates, one per line, outermost first.
    ///
    /// Gates of a group are indented below it.
    public var description: String { Self.lines(of: gates).joined(separator: "\n") }

    private static func lines(of gates: [any Gate]) -> [String] {
        gates.enumerated().flatMap { number, gate in
            let inner = (gate as? any GateGroup).map { lines(of: $0.gates) } ?? []
            return ["\(number + 1). \(gate.gateName)"] + inner.map { "   " + $0 }
        }
    }
}
