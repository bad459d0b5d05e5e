// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Gates in order, outermost first.
///
/// Write a stack as a list of factories or in a builder with types:
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

    /// Returns the stack of a call with request options.
    ///
    /// If no gate of the stack handles an option, the returned stack also contains the gate of the
    /// option (``RequestOptionKey/gate(for:)``). The returned stack does not contain the gates that
    /// the call leaves out.
    public func completed(for options: RequestOptions) -> Stack {
        if options.isEmpty { return self }
        let gates = (try? gates.remaining(for: options)) ?? gates
        let handled = Set(gates.lazy.flatMap(\.handledOptions).map { ObjectIdentifier($0) })
        return Stack(
            options.gates(at: .outermost, unless: handled) + gates
                + options.gates(at: .innermost, unless: handled))
    }

    /// Returns the error of every call with this stack, or nil (``Client/fault``).
    public func fault(over transport: any Transport) -> ClientError? {
        Plan(gates: gates, transport: transport).fault
    }

    /// Returns a stack with the gates of `outer` outside the gates of `inner`.
    public static func + (outer: Stack, inner: Stack) -> Stack { Stack(outer.gates + inner.gates) }
}

extension Stack: ExpressibleByArrayLiteral {
    /// Creates a stack of gates, outermost first.
    public init(arrayLiteral elements: any Gate...) { gates = elements }
}

extension Stack: CustomStringConvertible {
    /// The names of the gates, one per line, outermost first.
    ///
    /// The gates of a group are indented below the name of the group.
    public var description: String { Self.lines(of: gates).joined(separator: "\n") }

    private static func lines(of gates: [any Gate]) -> [String] {
        gates.enumerated().flatMap { number, gate in
            let inner = (gate as? any GateGroup).map { lines(of: $0.gates) } ?? []
            return ["\(number + 1). \(gate.gateName)"] + inner.map { "   " + $0 }
        }
    }
}

enum LeftOutOption: OptionKey {
    typealias Value = [LeftOut]
}

struct LeftOut: Sendable {
    let name: String
    let isMeant: @Sendable (any Gate) -> Bool
}

extension [any Gate] {
    /// Returns the remaining gates, or throws if a call must not leave out a gate.
    func remaining(for options: RequestOptions) throws -> [any Gate] {
        guard let left = options[LeftOutOption.self] else { return self }
        let names = flatMap(\.flattened)
        for missing in left where !names.contains(where: missing.isMeant) {
            throw ClientError(
                .configuration,
                "the client has no gate \"\(Grammar.escaped(missing.name, upTo: 100))\" to leave out;"
                    + " its gates are " + names.map(\.gateName).joined(separator: ", "))
        }
        return try remaining { gate in left.contains { $0.isMeant(gate) } }
    }

    private func remaining(without isLeftOut: (any Gate) -> Bool) throws -> [any Gate] {
        try compactMap { gate in
            let inner = gate.flattened
            guard inner.contains(where: isLeftOut) else { return gate }
            guard isLeftOut(gate) else {
                guard let group = gate as? any GateGroup else { return gate }
                return Remainder(group: group, gates: try group.gates.remaining(without: isLeftOut))
            }
            for gate in inner {
                guard let duty = gate.facts(for: nil)?.duty else { continue }
                throw ClientError(
                    .configuration, "\(gate.gateName) cannot be left out of a call: it \(duty)")
            }
            return nil
        }
    }
}

private struct Remainder: GateGroup {
    let group: any GateGroup
    let gates: [any Gate]

    var gateName: String { group.gateName }
    func facts(for request: Request?) -> GateFacts? { group.facts(for: request) }
    func applies(to request: Request, context: Context) -> Bool {
        group.applies(to: request, context: context)
    }
}

extension GateFacts {
    // The protection that every call needs from this gate, or nil if a call may leave out the gate.
    fileprivate var duty: String? {
        if requiresTLS { return "refuses requests that would not go over TLS" }
        for effect in effects {
            switch effect {
            case .checksTarget: return "checks where requests go"
            case .upgradesScheme: return "turns http into https"
            case .redirects: return "follows redirects"
            case .limitsContent: return "limits content"
            case .limitsDecoding: return "limits decoding"
            case .limitsRate: return "limits the rate of requests"
            case .limitsConcurrency: return "limits how many requests are under way"
            case .setsFields(_, .secret), .keepsCookies: return "sets credentials"
            default: continue
            }
        }
        return nil
    }
}

/// Collects gates, outermost first.
@resultBuilder
public enum StackBuilder {
    /// Adds one gate.
    public static func buildExpression(_ gate: any Gate) -> [any Gate] { [gate] }
    /// Adds the gates of a stack.
    public static func buildExpression(_ stack: Stack) -> [any Gate] { stack.gates }
    /// Joins gates in order.
    public static func buildBlock(_ parts: [any Gate]...) -> [any Gate] { parts.flatMap(\.self) }
    /// Adds the gates of an `if` without `else`.
    public static func buildOptional(_ part: [any Gate]?) -> [any Gate] { part ?? [] }
    /// Adds the gates of the first branch.
    public static func buildEither(first part: [any Gate]) -> [any Gate] { part }
    /// Adds the gates of the second branch.
    public static func buildEither(second part: [any Gate]) -> [any Gate] { part }
    /// Adds the gates of a loop.
    public static func buildArray(_ parts: [[any Gate]]) -> [any Gate] { parts.flatMap(\.self) }
    /// Adds the gates of an availability check.
    public static func buildLimitedAvailability(_ part: [any Gate]) -> [any Gate] { part }
}
