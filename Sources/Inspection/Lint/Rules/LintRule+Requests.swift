// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

// Rules about fields that gates set, and about checks of responses.
extension LintRule {
    static let requests: [LintRule] = [
        LintRule(
            "stale-stamp", .warning, "A signature outside of gates that send later",
            harm: """
                The request is signed once, but sent later, or sent again, with the same date. \
                The server refuses a signature that is too old, or that it has already seen.
                """,
            remedy: "Move the signature inside of these gates",
            source: "RFC 9421 §3.2.1; AWS Signature Version 4: requests expire after 5 minutes",
            offender: .inner,
            edges: { subject in
                let late = subject.entries.filter { !$0.kinds.isDisjoint(with: lateKinds) }
                return subject.all(where: { $0.stamp != nil }).flatMap { stamp in
                    subject.edges(late.filter { isTooLate($0, for: stamp) }, outside: [stamp])
                }
            },
            story: { edge, _ in
                let valid = edge.inner.effects.lazy.compactMap(\.stamp).first ?? nil
                let waits = edge.others.map(longestWait)
                let isBounded = !waits.contains(nil)
                let sum = waits.reduce(Duration.zero) { $0 + ($1 ?? .zero) }
                let time = isBounded ? "up to \(sum.text)" : "any time"
                return "a request may be sent \(time) after it was signed"
                    + (valid.map { ", though the signature is valid for \($0.text)" }
                        ?? ", with the same signature")
                    + ": \(edge.inner.name) stands outside of \(edge.names)"
            }),
        LintRule(
            "signed-before-change", .warning, "A signature of content that changes later",
            harm: "The content changes after the signature, and the server refuses the signature.",
            remedy: "Move the signature inside of the gate that changes the content",
            source: "RFC 9421 §7.2.8; RFC 9530",
            offender: .inner,
            edges: { subject in
                subject.edges(
                    subject.all(where: { $0 == .changesContent }),
                    outside: subject.entries.filter(\.signs))
            },
            story: { edge, _ in
                "\(edge.inner.name) signs the content before \(edge.outer.name) changes it"
            }),
        LintRule(
            "secret-without-origins", .warning, "A secret for any origin",
            harm: """
                If a call has an absolute URL, from a response or a user for instance, the host of \
                this URL gets the secret. Only redirects to another origin leave out the secret.
                """,
            remedy: "Name the origins of the secret, or put the gate into a group for them",
            source: "CWE-522; CVE-2018-1000007 (curl)",
            check: { subject in
                subject.entries.compactMap { entry in
                    let names = entry.secrets.filter { !$0.isBound }.flatMap(\.names)
                    guard !names.isEmpty else { return nil }
                    return LintDraft(
                        "\(names.map(\.rawValue).joined(separator: ", ")) goes to the host of any URL"
                            + " that a call names", entry)
                }
            }),
        LintRule(
            "secret-over-http", .warning, "A secret over http",
            harm: """
                Anyone on the path of a request can read and use the secret. A redirect to \
                https comes too late.
                """,
            remedy: "Use a base URL with https, or name the origins of the secret, with https",
            source: "RFC 6750 §5.3; RFC 7617 §4",
            check: { subject in
                subject.entries.compactMap { entry in
                    let names = entry.secrets.flatMap(\.names)
                    var places = entry.secretOrigins
                    if entry.isSecretAtBase, let base = subject.base { places.insert(base) }
                    places = places.filter { $0.scheme == "http" && !$0.isThisMachine }
                    guard !names.isEmpty, !places.isEmpty, !entry.signs else { return nil }
                    return LintDraft(
                        "\(names.map(\.rawValue).joined(separator: ", ")) goes to"
                            + " \(places.map(\.description).sorted().joined(separator: ", ")) in plain"
                            + " text", entry)
                }
            }),
        LintRule(
            "credential-overridden", .warning, "Two gates for one credential",
            harm: """
                If a request already has an Authorization field, a gate keeps or replaces it. So \
                one of the two credentials is never sent, although its gate may refresh it.
                """,
            remedy: "Remove one of the gates, or give each its own origins",
            source: "documentation of the gates: a credential that the request already has is kept",
            check: { subject in
                let gates = subject.entries.filter { !$0.secrets.isEmpty }
                return gates.flatMap { first in
                    gates.compactMap { second -> LintDraft? in
                        guard first.index < second.index, subject.mayMeet(first, second),
                            let name = clash(first, second)
                        else { return nil }
                        return LintDraft(
                            "\(first.name) and \(second.name) both set \(name.rawValue), and one of the"
                                + " two is never sent", first, second)
                    }
                }
            }),
        LintRule(
            "limits-missing", .warning, "No limits on content",
            harm: """
                The client accepts a header section of any size, and a small compressed response \
                may become 100 MiB in memory (a decompression bomb), for each running call.
                """,
            remedy: "Add limits inside of gates that act on a response, such as retry and redirect",
            source: "CWE-409; RFC 9110 §17.5",
            check: { subject in
                let isLimited = !subject.all(where: {
                    if case .limitsContent = $0 { true } else { false }
                })
                .isEmpty
                return isLimited || subject.hasUnknown
                    ? []
                    : [
                        LintDraft(
                            "a response of 100 KiB may become 100 MiB in memory, because nothing limits"
                                + " decoding")
                    ]
            }),
    ]

    private static let lateKinds: Set<GateKind> = [.retry, .hedge, .rateLimit, .concurrencyLimit]

    private static func isTooLate(
        _ late: LintSubject.Entry, for stamp: LintSubject.Entry
    ) -> Bool {
        guard let valid = stamp.effects.lazy.compactMap(\.stamp).first ?? nil else {
            // A signature that is valid once may wait for a permit, but must not be sent again.
            return !late.kinds.isDisjoint(with: [.retry, .hedge])
        }
        return longestWait(late).map { $0 > valid } ?? true
    }

    private static func longestWait(_ gate: LintSubject.Entry) -> Duration? {
        var sum = Duration.zero
        for effect in gate.effects {
            switch effect {
            case .retries(_, let waits, _), .waits(let waits, _):
                guard let waits else { return nil }
                sum += min(waits, .seconds(1 << 40))
            case .hedges(let copies, let after):
                guard let after, let total = times(after, copies) else { return nil }
                sum += total
            case .sharesState(_, _, let wait): sum += min(wait, .seconds(1 << 40))
            default: break
            }
        }
        return sum
    }

    // Finds a secret that two gates set, if one of the two gates sends the secret to every origin.
    private static func clash(
        _ first: LintSubject.Entry, _ second: LintSubject.Entry
    ) -> HTTPHeaders.Name? {
        for one in first.secrets {
            for other in second.secrets where !one.isBound || !other.isBound {
                if let name = one.names.first(where: other.names.contains) { return name }
            }
        }
        return nil
    }
}

extension LintSubject.Entry {
    fileprivate var signs: Bool {
        facts?.signsContent == true
            || kinds.contains(.authentication) && effects.contains { $0.stamp != nil }
    }

    fileprivate var isSecretAtBase: Bool {
        (factsAtBase?.effects ?? []).contains {
            if case .setsFields(_, .secret) = $0 { true } else { false }
        }
    }
}

extension Origin {
    /// Whether requests to the origin stay on this machine, as during development.
    fileprivate var isThisMachine: Bool {
        if host == "localhost" || host.hasSuffix(".localhost") { return true }
        guard let address = IPAddress(host) else { return false }
        return address == IPAddress(high: 0, low: 1) || address.description.hasPrefix("127.")
    }
}

extension GateEffect {
    /// The validity of a time stamp, or nil without a stamp; an inner nil means any time.
    fileprivate var stamp: Duration?? {
        if case .stampsTime(let valid) = self { return .some(valid) }
        return nil
    }
}
