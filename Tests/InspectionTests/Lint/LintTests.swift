// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Turnpike
import TurnpikeAuthentication
import TurnpikeCache
import TurnpikeCore
import TurnpikeInspection
import TurnpikeTesting
import TurnpikeTraffic

/// What the linter finds in stacks, by its own rules.
@Suite struct LintTests {
    private let transport = MockTransport(capabilities: [], [])

    private func findings(
        _ stack: Stack, of rule: String, baseURL: Target? = nil
    ) -> [LintFinding] {
        stack.lint(for: transport, baseURL: baseURL).filter { $0.rule == rule }
    }

    @Test(arguments: LintCase.all)
    func `a stack with a mistake has its finding, and the nearest one has not`(
        lintCase: LintCase
    ) throws {
        let finding = try #require(
            findings(lintCase.wrong, of: lintCase.rule, baseURL: lintCase.baseURL).first)
        for figure in lintCase.figures {
            #expect(finding.story.contains(figure), "\(finding.story)")
        }
        let others = findings(lintCase.right, of: lintCase.rule, baseURL: lintCase.baseURL)
        #expect(others.isEmpty, "\(others)")
    }

    @Test func `each rule has a case, and ids are unique`() {
        let ids = LintRule.all.map(\.id)
        #expect(Set(ids).count == ids.count)
        #expect(ids.count >= 40)
        // Of a transport; `RightStackTests` has it.
        let others: Set = ["server-ends-process"]
        #expect(Set(ids) == Set(LintCase.all.map(\.rule)).union(others))
    }

    @Test func `rules are told in sentences`() {
        for rule in LintRule.all {
            #expect(rule.harm.hasSuffix("."), "\(rule.id)")
            #expect(!rule.remedy.hasSuffix("."), "\(rule.id)")
            #expect(!rule.title.hasSuffix(".") && !rule.title.isEmpty, "\(rule.id)")
            #expect(!rule.source.isEmpty, "\(rule.id)")
        }
    }

    // MARK: Order

    @Test func `the order that mends a stack has no finding of order`() throws {
        let wrong: Stack = [
            .retry(), .cache(), .cookies(), .redirect(), .deadline(), .attemptTimeout(),
            .concurrencyLimit(), .hedge(), .limits(),
        ]
        let finding = try #require(wrong.lint(for: transport).first)
        let order = try #require(finding.mendedOrder)
        let gates = order.compactMap { name in wrong.gates.first { $0.gateName == name } }
        #expect(gates.count == wrong.gates.count)
        #expect(Stack(gates).lint(for: transport) == [])
    }

    @Test func `a mended order changes no more than it must`() throws {
        let wrong: Stack = [
            .userAgent("a/1"), .retry(), .deadline(), .requestID(), .attemptTimeout(.seconds(1)),
            .limits(),
        ]
        let finding = try #require(findings(wrong, of: "deadline-inside-retry").first)
        #expect(
            finding.mendedOrder
                == ["UserAgent", "Deadline", "Retry", "RequestID", "AttemptTimeout", "Limits"])
        #expect(finding.gates.map(\.description) == ["2. Retry", "3. Deadline"])
        #expect(finding.description.hasPrefix("error: a call may take 210 s"))
    }

    @Test func `no order mends what two gates demand of each other`() throws {
        let first = Stated(
            "First", .keepsCookies, order: [GateOrder(.inside, .log, because: "A.")])
        let second = Stated(
            "Second", .logs(content: 0), order: [GateOrder(.inside, .cookies, because: "B.")])
        let stack: Stack = [first, second]
        let finding = try #require(findings(stack, of: "stated-order").first)
        #expect(finding.mendedOrder == nil)
    }

    @Test func `gates of groups are judged where they stand`() throws {
        let wrong: Stack = [.group([.retry()], name: "House"), .deadline(), .limits()]
        let finding = try #require(findings(wrong, of: "deadline-inside-retry").first)
        #expect(finding.gates.map(\.path) == [[0, 0], [1]])
        #expect(finding.mendedOrder == ["Deadline", "House(Retry)", "Limits"])
        let inner: Stack = [.group([.retry(), .deadline()])]
        #expect(
            findings(inner, of: "deadline-inside-retry").first?.mendedOrder
                == ["Group(Deadline, Retry)"])
    }

    @Test func `gates that no request passes together are not judged together`() {
        let apart: Stack = [
            .when({ $0.method == .get }, then: [.retry()]),
            .when({ $0.method != .get }, then: [.deadline(), .retry()]),
        ]
        #expect(findings(apart, of: "deadline-inside-retry").isEmpty)
        #expect(findings(apart, of: "two-retries").isEmpty)
        // A gate outside of all groups meets each of them.
        let together: Stack = [.when({ $0.method == .get }, then: [.retry()]), .deadline()]
        #expect(findings(together, of: "deadline-inside-retry").count == 1)
    }

    @Test func `a gate that stands wrong to several others is told of once`() throws {
        let nested: Stack = [
            .retry(attempts: 2, maxRetryAfter: .seconds(5)),
            .retry(attempts: 3, maxRetryAfter: .seconds(10)), .deadline(.seconds(30)),
        ]
        let found = findings(nested, of: "deadline-inside-retry")
        #expect(found.count == 1, "\(found)")
        // The inner retry takes 3 × 30 + 2 × 10 s, and the outer one that twice, and 5 s.
        #expect(found.first?.story.contains("may take 225 s") == true, "\(found)")
        #expect(found.first?.gates.map(\.path) == [[0], [1], [2]])
        // So is a mistake that several gates share.
        let two: Stack = [.circuitBreaker(), .circuitBreaker(), .retry(), .deadline()]
        let shared = findings(two, of: "breaker-outside-retry")
        #expect(shared.map { $0.gates.map(\.path) } == [[[0], [1], [2]]])
        let blind: Stack = [.circuitBreaker(), .cache(), .log(to: MemoryLogSink())]
        let story = findings(blind, of: "log-blind").map(\.story)
        #expect(
            story == [
                "calls that CircuitBreaker refuses or Cache answers by itself leave no line in the"
                    + " log: Log stands inside them"
            ])
    }

    @Test func `three retries are one finding, with the product of their attempts`() {
        let three: Stack = [.retry(attempts: 2), .retry(attempts: 3), .retry(attempts: 4)]
        let found = findings(three, of: "two-retries")
        #expect(found.map(\.gates.count) == [3])
        #expect(found.first?.story.contains("may be sent 24 times") == true, "\(found)")
    }

    @Test func `attempts of gates that no request passes together do not multiply`() {
        let apart: Stack = [
            .circuitBreaker(), .when({ $0.method == .get }, then: [.retry(attempts: 2)]),
            .when({ $0.method != .get }, then: [.retry(attempts: 3)]),
        ]
        let found = findings(apart, of: "breaker-outside-retry")
        #expect(found.map(\.gates.count) == [3])
        #expect(found.first?.story.contains("gets 3 requests") == true, "\(found)")
    }

    // MARK: What is not known

    @Test func `a gate that states nothing is not judged, and may be what is missing`() {
        let stack: Stack = [Stated(unknown: "Mystery"), .retry(), .circuitBreaker()]
        #expect(stack.lint(for: transport).isEmpty)
    }

    @Test func `an adapter that states nothing cannot bound a call`() {
        struct Plain: SynchronousRequestAdapter {
            func adapt(_ request: inout Request, context: Context) {}
        }
        let stack: Stack = [Plain(), .retry()]
        #expect(findings(stack, of: "deadline-missing").count == 1)
    }

    @Test func `a log inside a fallback sees the failures`() {
        let stack: Stack = [.fallback(status: .ok), .log(to: MemoryLogSink())]
        #expect(findings(stack, of: "log-blind").isEmpty)
    }

    @Test func `a second deadline around the first is enough`() {
        let stack: Stack = [.deadline(.seconds(60)), .retry(), .deadline(.seconds(10))]
        #expect(findings(stack, of: "deadline-inside-retry").isEmpty)
    }

    // MARK: The base URL, the transport and ignored rules

    @Test(
        "over http, secrets are looked for in a client whose requests leave the machine",
        arguments: [
            ("http://a.test/", 1), ("http://10.0.0.7/", 1), ("http://127.evil.test/", 1),
            ("https://a.test/", 0), ("http://localhost:8080/", 0), ("http://127.0.0.1:8080/", 0),
            ("http://[::1]/", 0), ("users", 0), (nil, 0),
        ] as [(String?, Int)])
    func plainText(base: String?, count: Int) {
        let stack: Stack = [.bearer(token: "t")]
        let found = findings(stack, of: "secret-over-http", baseURL: base.map { Target($0) })
        #expect(found.count == count, "\(found)")
    }

    @Test func `a transport that counts encoded bytes keeps any limit on decoding`() {
        let stack: Stack = [.deadline(), .limits(.init(ratio: 5))]
        #expect(stack.lint(for: transport).map(\.rule) == ["decoding-limit-not-kept"])
        #expect(stack.lint(for: MockTransport([])).isEmpty)
    }

    @Test func `a rule can be ignored, and a rule that is not there cannot`() {
        let stack: Stack = [
            .deadline(), .circuitBreaker(), .retry(), .attemptTimeout(), .limits(),
        ]
        #expect(stack.lint(for: transport).map(\.rule) == ["breaker-outside-retry"])
        #expect(stack.lint(for: transport, ignoring: ["breaker-outside-retry"]).isEmpty)
        let finding = stack.lint(for: transport, ignoring: ["breaker-outside-retri"])[0]
        #expect(finding.rule == "unknown-rule")
        #expect(finding.story.contains("did you mean \"breaker-outside-retry\""))
    }

    @Test func `severities have names for JSON`() {
        #expect(LintSeverity.allCases.map(\.rawValue) == ["error", "warning", "hint"])
    }

    @Test func `findings come with the worst first`() {
        let stack: Stack = [.retry(), .redirect(), .deadline(), .validate()]
        let severities = stack.lint(for: transport).map(\.severity)
        #expect(Set(severities).count == 3)
        #expect(severities == LintSeverity.allCases.flatMap { s in severities.filter { $0 == s } })
    }

    @Test func `the time of the linter grows with the stack, and not with the square`() {
        func time(_ count: Int) -> Duration {
            let gates = (0..<count).map { $0 % 2 == 0 ? Retry() as any Gate : Deadline() }
            let (findings, time) = ThreadTime.of { Stack(gates).lint(for: transport) }
            #expect(findings.count { $0.rule == "two-retries" } == 1)
            return time
        }
        // The least of some: what else the machine does comes on top.
        let few = (0..<3).map { _ in time(2_500) }.min() ?? .zero
        let many = (0..<3).map { _ in time(10_000) }.min() ?? .zero
        #expect(many < few * 10, "\(few) for 2,500, \(many) for 10,000")
    }

    @Test func `of one rule there are at most 20 findings`() {
        let gates = (0..<30).map { _ in SetHeaders(["X-Api-Key": "k"]) as any Gate }
        #expect(findings(Stack(gates), of: "secret-without-origins").count == 20)
    }
}
