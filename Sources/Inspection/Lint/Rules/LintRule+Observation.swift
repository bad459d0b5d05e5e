// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeSupport

extension LintRule {
    static let observation: [LintRule] = [
        LintRule(
            "log-blind", .warning, "A log inside of a gate that answers by itself",
            harm: """
                If an outer gate, such as a cache or a circuit breaker, answers or refuses a call, \
                the log has no line for the call. In an outage, the log then shows too few calls.
                """,
            remedy: "Move the log outside of this gate, or add another log there",
            source: "documentation of Log: an outermost log has a line for each call",
            edges: { subject in
                subject.edges(
                    subject.outermost(.log),
                    outside: subject.all(where: {
                        if case .answers(let answer) = $0 { answer != .substitute } else { false }
                    }))
            },
            story: { edge, _ in
                let gates = edge.others.map { "\($0.name) \(verb($0))" }
                return "calls that \(gates.joined(separator: " or ")) leave no line in the"
                    + " log: \(edge.outer.name) stands inside \(gates.count == 1 ? "it" : "them")"
            }),
        LintRule(
            "content-in-logs", .hint, "Content in logs",
            harm: """
                Log lines show the beginning of request and response content. Known secrets are \
                redacted, but personal data is not.
                """,
            remedy: "Log content only while you look for a fault, and not in production",
            source: "OWASP, \"Logging Cheat Sheet\"; CWE-532",
            check: { subject in
                subject.entries.compactMap { entry in
                    for case .logs(let bytes) in entry.effects where bytes > 0 {
                        return LintDraft(
                            "a log line shows up to \(ByteCount.text(Int64(bytes))) of content,"
                                + " with personal data", entry)
                    }
                    return nil
                }
            }),
        LintRule(
            "unbounded-labels", .warning, "Metrics with unbounded labels",
            harm: """
                Each new value of a label makes a new series, in this process and in the system that \
                collects the metrics, until one of the two has no memory left.
                """,
            remedy: "Limit the number of values, and count all further values under one name",
            source: "OpenTelemetry, metrics SDK: cardinality limits",
            check: { subject in
                subject.all(where: { $0 == .measures(hasBoundedLabels: false) }).map {
                    LintDraft(
                        "\($0.name) makes a new series for each value of a label, without a limit",
                        $0)
                }
            }),
    ]

    private static func verb(_ entry: LintSubject.Entry) -> String {
        for case .answers(let answer) in entry.effects {
            return answer == .refusal ? "refuses" : "answers by itself"
        }
        return "answers"
    }
}

extension LintRule {
    static let transports: [LintRule] = [
        LintRule(
            "server-ends-process", .warning, "URLSession on Linux",
            harm: """
                FoundationNetworking traps on what a server may send: trailer fields, a connection \
                that closes inside of a head, a Content-Length near 2⁶³. Nothing can catch a trap, \
                so the process ends with all its calls.
                """,
            remedy: """
                Use libcurl: `Client(transport: try CurlTransport(), …)` with `import \
                TurnpikeCurl`, or `"transport": {"use": "curl"}` in a stack file
                """,
            source: "TurnpikeURLSession, \"What URLSession on Linux cannot do\"",
            check: { subject in
                guard subject.canEndProcess else { return [] }
                return [LintDraft("one response of a server can end the process")]
            }),
        LintRule(
            "decoding-limit-not-kept", .hint, "A decoding limit that the transport cannot keep",
            harm: """
                The transport decodes content before the gate can count bytes. If the server does \
                not declare the size, only the limit on bytes bounds the content.
                """,
            remedy:
                "Use a transport that counts encoded bytes, such as libcurl, or limit the bytes",
            source: "CWE-409; TransportCapabilities.encodedSizes",
            check: { subject in
                if subject.capabilities.contains(.encodedSizes) { return [] }
                return subject.entries.compactMap { entry in
                    // The standard limits are suitable for all transports.
                    for case .limitsDecoding(let ratio) in entry.effects
                    where ratio < Limits.Bounds().ratio {
                        return LintDraft(
                            "content of undeclared size may grow to more than \(ratio) times its"
                                + " size: the transport does not count the bytes before decoding",
                            entry)
                    }
                    return nil
                }
            }),
    ]
}
