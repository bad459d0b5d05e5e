// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

extension Call {
    /// Leaves gates of the client's stack out of this call, by their names (``Gate/gateName``), in upper
    /// or lower case: `without("cache")`.
    ///
    /// The call fails as ``ClientError/Code/configuration`` if no gate has the name, or if the facts of
    /// a gate say that it checks targets, upgrades the scheme, follows redirects, sets credentials, or
    /// limits content, decoding, the rate or concurrency. With a group, the gates inside it are left out.
    public func without(_ names: String...) -> Call {
        names.reduce(self) { call, name in
            call.without(LeftOut(name: name) { $0.gateName.lowercased() == name.lowercased() })
        }
    }

    /// Leaves the gates of a type out of this call, as it would leave them out by their names.
    public func without<Left: Gate>(_ type: Left.Type) -> Call {
        without(LeftOut(name: String(describing: type)) { $0 is Left })
    }

    private func without(_ gates: LeftOut) -> Call {
        option(LeftOutOption.self, (request.options[LeftOutOption.self] ?? []) + [gates])
    }
}

/// What a call leaves out of its stack.
enum LeftOutOption: OptionKey {
    typealias Value = [LeftOut]
}

struct LeftOut: Sendable {
    let name: String
    let isMeant: @Sendable (any Gate) -> Bool
}

extension [any Gate] {
    /// Returns the gates that a call with these options does not leave out, or throws why it cannot.
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

/// A group without some of its gates.
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
    // What the gate guards; nil if a call may do without it.
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
