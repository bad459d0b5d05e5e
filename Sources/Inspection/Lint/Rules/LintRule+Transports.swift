// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeMiddleware

// Rules about features that the transport lacks.
extension LintRule {
    static let transports: [LintRule] = [
        LintRule(
            "server-ends-process", .warning, "URLSession on Linux",
            harm: """
                FoundationNetworking traps on what a server may send: trailer fields, a connection \
                that closes inside of a head, a Content-Length near 2⁶³. Nothing can catch that, and \
                the process ends with all its calls.
                """,
            remedy: """
                Take libcurl, in one line: `Client(transport: try CurlTransport(), …)` with `import \
                TurnpikeCurl`, or `"transport": {"use": "curl"}` in a stack file
                """,
            source: "TurnpikeURLSession, \"What URLSession on Linux cannot do\"",
            check: { subject in
                guard subject.canEndProcess else { return [] }
                return [LintDraft("a server can end the process, by one response")]
            }),
        LintRule(
            "decoding-limit-not-kept", .hint, "A decoding limit that the transport cannot keep",
            harm: """
                The transport decodes content before anybody can count it. The limit holds only where \
                the size is declared; for other content, the limit on bytes is all there is.
                """,
            remedy:
                "Use a transport that counts encoded bytes, such as libcurl, or limit the bytes",
            source: "CWE-409; TransportCapabilities.encodedSizes",
            check: { subject in
                if subject.capabilities.contains(.encodedSizes) { return [] }
                return subject.entries.compactMap { entry in
                    // The standard limits are meant for all transports.
                    for case .limitsDecoding(let ratio) in entry.effects
                    where ratio < Limits.Bounds().ratio {
                        return LintDraft(
                            "content whose size is not declared may become more than \(ratio) times as"
                                + " large: the transport does not count it before it is decoded",
                            entry)
                    }
                    return nil
                }
            }),
    ]
}
