// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The examples of the articles are code of this folder, or of the tests in a module of the main
/// actor, so that they compile and do what they say.
@Suite("Articles")
struct ArticleTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()

    // Where a line breaks, and a comma behind the last element, are the formatter's choice.
    private func bare(_ text: some StringProtocol) -> String {
        String(text.filter { !$0.isWhitespace }).replacing(",]", with: "]").replacing(
            ",)", with: ")")
    }

    @Test(
        "Each example is compiled here",
        arguments: [
            "Turnpike/Documentation.docc/GettingStarted.md",
            "Turnpike/Documentation.docc/OrderOfTheStack.md",
            "Inspection/Documentation.docc/OrderOfTheStack.md",
            "Turnpike/Documentation.docc/MainActorModules.md",
            "Turnpike/Documentation.docc/ComingFromAsyncHTTPClient.md",
            "Turnpike/Documentation.docc/ComingFromURLSession.md",
            "Turnpike/Documentation.docc/ComingFromPollyAndResilience4j.md",
            "StackFiles/Documentation.docc/StackFiles.md",
            "Core/Documentation.docc/WritingAGate.md",
            "Inspection/Documentation.docc/Bounds.md",
            "Middleware/Documentation.docc/Resilience.md",
            "../Plugins/Endpoints/Documentation.docc/SeveralEndpoints.md",
            "../Plugins/SharedState/Documentation.docc/OneQuotaForManyReplicas.md",
            "Middleware/Documentation.docc/LogsMetricsAndTraces.md",
            "Inspection/Documentation.docc/ReadingATrace.md",
            "Inspection/Documentation.docc/OperateAtNight.md",
            "Core/Documentation.docc/SecretsAndRedaction.md",
            "../Plugins/Testing/Documentation.docc/TestingYourClient.md",
        ])
    func examples(path: String) throws {
        let root = Self.folder.appending(path: "../../../Sources")
        let article = try String(contentsOf: root.appending(path: path), encoding: .utf8)
        let name = path.split(separator: "/").last?.dropLast(3) ?? ""
        let code = try ["", "../../MainActorTests/"]
            .flatMap { folder in
                ["Examples.swift", "StreamExamples.swift"]
                    .map { Self.folder.appending(path: folder + name + $0) }
            }
            .filter { FileManager.default.fileExists(atPath: $0.path()) }
            .map { bare(try String(contentsOf: $0, encoding: .utf8)) }.joined()
        let blocks = article.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
        #expect(!blocks.isEmpty)
        for block in blocks { #expect(code.contains(bare(block)), "\(block)") }
    }
}
