// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeAuthentication
import TurnpikeCache
import TurnpikeCore
import TurnpikeEndpoints
import TurnpikeInspection
import TurnpikeTraffic

/// The stacks that README, articles, comments and examples show have no finding.
///
/// Their gates are read by name and made with their defaults, so what is judged is their order. Most
/// show a part of a stack, so no gate counts as missing.
@Suite struct DocumentedStackTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../..").standardizedFileURL

    private static let gates: [String: any Gate] = [
        "admissionControl": AdmissionControl(), "attemptTimeout": AttemptTimeout(),
        "basic": BasicAuthentication(user: "u", password: "p"),
        "baseURL": BaseURL("https://a.test/"), "bearer": BearerAuthentication(BearerTokens()),
        "cache": Cache(), "circuitBreaker": CircuitBreaker(), "coalesce": Coalesce(),
        "compressBodies": CompressBodies(), "concurrencyLimit": ConcurrencyLimit(),
        "cookies": Cookies(), "deadline": Deadline(), "defaultHeaders": DefaultHeaders(),
        "endpoints": Endpoints(for: "users.internal", from: .list(["10.0.0.7:8080"])),
        "fallback": Fallback(status: .ok), "hedge": Hedge(), "hsts": HSTS(),
        "idempotencyKey": IdempotencyKey(), "idleTimeout": IdleTimeout(), "limits": Limits(),
        "log": Log(to: MemoryLogSink()), "metrics": Metrics(MetricsStore()),
        "rateLimit": RateLimit(perSecond: 1), "redirect": Redirect(), "requestID": RequestID(),
        "retry": Retry(), "setHeaders": SetHeaders(["X-Tenant": "blue"]),
        "traceContext": TraceContext(), "urlPolicy": URLPolicy(), "userAgent": UserAgent("a/1"),
        "validate": Validate(),
    ]

    // The stacks of a text, as the names of their gates: those of lists, and those of builders.
    private static func stacks(in text: String) -> [[String]] {
        let lists = text.matches(of: /(?:stack:|Stack =) \[/).map { match -> [String] in
            var (depth, list) = (1, "")
            for character in text[match.range.upperBound...] {
                if "([{".contains(character) { depth += 1 }
                if ")]}".contains(character) { depth -= 1 }
                if depth == 0 { break }
                if depth == 1 || character == "(" && depth == 2 { list.append(character) }
            }
            return list.matches(of: /\.(\w+)\(/).map { String($0.output.1) }
        }
        let builders = text.matches(of: /transport: transport\) \{\n((?:.*\n)+?)(?:\/\/\/ )?\}/)
            .map { match in
                String(match.output.1).matches(of: /(?m)^(?:\/\/\/)? {4}([A-Z]\w+)(?:\(| \{)/)
                    .map { String($0.output.1) }
                    .map { $0.hasPrefix("HSTS") || $0.hasPrefix("URL") ? $0.lowercased() : $0 }
                    .map { $0.prefix(1).lowercased() + $0.dropFirst() }
            }
        return (lists + builders).filter { !$0.isEmpty }
    }

    private static func texts() throws -> [(name: String, text: String)] {
        var texts: [(String, String)] = []
        for folder in ["README.md", "Sources", "Plugins", "Examples"] {
            let place = root.appending(path: folder)
            let files =
                FileManager.default.enumerator(at: place, includingPropertiesForKeys: nil)?
                .compactMap { $0 as? URL } ?? []
            for file in files + [place] where ["md", "swift"].contains(file.pathExtension) {
                // The article of the rules shows a mistake that is ignored. The pipelines of another
                // library are in its order.
                let others = ["/.build/", "/Inspection/", "/ComingFromPolly"]
                if others.contains(where: { file.path().contains($0) }) { continue }
                texts.append(
                    (file.lastPathComponent, try String(contentsOf: file, encoding: .utf8)))
            }
        }
        return texts
    }

    @Test func `no stack in the documentation has a finding`() throws {
        let byName = Dictionary(
            uniqueKeysWithValues: Self.gates.map { ($0.lowercased(), $1) })
        var count = 0
        for (file, text) in try Self.texts() {
            for names in Self.stacks(in: text) {
                let stack = Stack(names.compactMap { byName[$0.lowercased()] })
                if stack.gates.count > 1 { count += 1 }
                let findings = stack.lint(for: MockTransport(capabilities: [], [])).filter {
                    !$0.rule.hasSuffix("-missing") && $0.rule != "breaker-without-attempt-timeout"
                }
                #expect(findings == [], "\(file): \(names)")
            }
        }
        #expect(count >= 15)
    }
}
