// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import Synchronization
import Turnpike
import TurnpikeTesting

/// One run of `turnpike exec` under fuzz.
final class FuzzRun {
    private let options: FuzzOptions
    private let server: TestServer
    private let folder: URL
    private let process: ChildProcess
    private var codes: [String: Int] = [:]
    private var responses = 0

    init(_ options: FuzzOptions) throws {
        self.options = options
        server = try TestServer(keepsRecord: false)
        server.fallback(.ok(text: "a line\nand a second one\n"))
        server.route("/json", .ok(json: ["a": [1, 2, ["b": .null]]]))
        server.route("/gone", .status(404, body: Data("gone".utf8)))
        server.route("/moved", .redirect(302, to: "/json"))
        server.route("/flaky", .status(503), .close, .ok(text: "there"))
        server.route(
            "/events",
            .ok(text: "id: 1\ndata: a\n\n", headers: ["Content-Type": "text/event-stream"]))
        // The command may write files, if a bent line asks for it: in a folder that goes.
        folder = FileManager.default.temporaryDirectory.appending(
            path: "turnpike-fuzz-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let stack: JSONValue = [
            "baseURL": .string(server.url.absoluteString),
            "stack": [["use": "deadline", "seconds": 2], ["use": "retry", "base": 0.001]],
        ]
        try stack.data().write(to: folder.appending(path: "stack.json"))
        try Data("content".utf8).write(to: folder.appending(path: "f"))
        let command = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appending(path: "turnpike")
        process = try ChildProcess(
            command.path(percentEncoded: false), ["exec", "--stack", "stack.json"],
            in: folder.path(percentEncoded: false), input: .pipe, output: .pipe, errors: .null)
    }

    func run() throws -> JSONValue {
        let begin = ContinuousClock.now
        defer { try? FileManager.default.removeItem(at: folder) }
        let lines = lines()
        feed(lines)
        for (number, line) in lines.enumerated() { try check(answer(to: number, line), to: line) }
        guard process.readLineBytes() == nil else {
            throw FuzzFailure("there are more answers than lines")
        }
        let end = process.wait()
        guard end == .exited(0) else {
            throw FuzzFailure("exec ended with \(end) behind its last line")
        }
        let errors = codes.sorted { $0.key < $1.key }.map {
            ($0.key, JSONValue.number(JSONNumber($0.value)))
        }
        let seconds = ((ContinuousClock.now - begin) / .milliseconds(100)).rounded() / 10
        return [
            "program": "fuzz", "seed": .number(JSONNumber(Int(options.seed))),
            "lines": .number(JSONNumber(lines.count)),
            "responses": .number(JSONNumber(responses)), "errors": .object(JSONObject(errors)),
            "seconds": JSONNumber(seconds).map(JSONValue.number) ?? .null,
        ]
    }

    private func lines() -> [Data] {
        var source = FuzzSource(seed: options.seed)
        return (0..<options.lines).map { _ in source.next() }
    }

    private func feed(_ lines: [Data]) {
        signal(SIGPIPE, SIG_IGN)
        let handle = process.input
        let thread = Thread {
            for line in lines {
                // A command that ended takes no more; the missing answer tells.
                do { try handle.write(contentsOf: line + Data("\n".utf8)) } catch { break }
            }
            try? handle.close()
        }
        thread.start()
    }

    private func answer(to number: Int, _ line: Data) throws -> JSONValue {
        let patience = DispatchSource.makeTimerSource(queue: .global())
        let wasHanging = Atomic(false)
        patience.schedule(deadline: .now() + .seconds(options.patience))
        patience.setEventHandler { [process] in
            wasHanging.store(true, ordering: .relaxed)
            process.kill()
        }
        patience.resume()
        defer { patience.cancel() }
        let shown = String(decoding: line.prefix(2000), as: UTF8.self)
        guard let bytes = process.readLineBytes() else {
            let ended = process.wait()
            let end =
                wasHanging.load(ordering: .relaxed)
                ? "no answer within \(options.patience) s" : "exec ended: \(ended)"
            throw FuzzFailure("line \(number): \(end): \(shown)")
        }
        guard let answer = try? JSONValue(parsing: bytes) else {
            throw FuzzFailure("line \(number): the answer is no JSON: \(shown)")
        }
        return answer
    }

    private func check(_ answer: JSONValue, to line: Data) throws {
        let shown = String(decoding: line.prefix(2000), as: UTF8.self)
        let id = (try? JSONValue(parsing: line))?["id"]?.string.map(JSONValue.string) ?? .null
        guard answer["id"] == id else { throw FuzzFailure("another id came back: \(shown)") }
        guard let results = answer["results"]?.array, !results.isEmpty else {
            throw FuzzFailure("there is no result: \(shown)")
        }
        for result in results {
            switch result["outcome"] {
            case "response": responses += 1
            case "error":
                guard let code = result["error"]?["code"]?.string else {
                    throw FuzzFailure("an error has no code: \(shown)")
                }
                codes[code, default: 0] += 1
            default: throw FuzzFailure("a result has no outcome: \(shown)")
            }
        }
    }
}
