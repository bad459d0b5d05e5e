// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("HAR files with mistakes")
struct HARMistakesTests {
    struct Mistake: Sendable, CustomTestStringConvertible {
        let text: String
        let complaint: String
        var testDescription: String { complaint }
    }

    private static let good =
        #"{"request":{"method":"GET","url":"http://a.example/"},"response":{"status":200}}"#

    private static func log(_ entries: String) -> String {
        #"{"log":{"entries":[\#(good),\#(entries)]}}"#
    }

    private static func response(_ members: String) -> String {
        log(#"{"request":{"method":"GET","url":"http://a.example/"},"response":{\#(members)}}"#)
    }

    private static func request(_ members: String) -> String {
        log(#"{"request":{\#(members)},"response":{"status":200}}"#)
    }

    static let mistakes: [Mistake] = [
        Mistake(text: "", complaint: "line 1, column 1: the text ends where a value is expected"),
        Mistake(text: #"{"log": {"#, complaint: "line 1, column 10"),
        Mistake(text: "[]", complaint: "the file: found an array; expected an object"),
        Mistake(text: "{}", complaint: "log is missing; the file is not a HAR file"),
        Mistake(text: #"{"log": 5}"#, complaint: "log: found a number; expected an object"),
        Mistake(text: #"{"log": {}}"#, complaint: "log.entries is missing"),
        Mistake(
            text: #"{"log": {"entries": {}}}"#,
            complaint: "log.entries: found an object; expected an array"),
        Mistake(text: log("7"), complaint: "log.entries[1]: found a number"),
        Mistake(text: log("{}"), complaint: "log.entries[1].request is missing"),
        Mistake(
            text: request(#""url":"http://a.example/""#),
            complaint: "log.entries[1].request.method is missing"),
        Mistake(
            text: request(#""method":"G T","url":"http://a.example/""#),
            complaint: "log.entries[1].request.method is not a token"),
        Mistake(
            text: request(#""method":"GET","url":""#) + #""}}]}}"#,
            complaint: "line 1"),
        Mistake(
            text: request(#""method":"GET","url":"http://[""#),
            complaint: "log.entries[1].request.url is not a URL"),
        Mistake(
            text: request(
                #""method":"GET","url":"http://a.example/","headers":[{"name":"A","value":1}]"#),
            complaint:
                "log.entries[1].request.headers[0].value: found a number; expected a string"),
        Mistake(
            text: request(
                #""method":"GET","url":"http://a.example/","headers":[{"name":"A B","value":""}]"#),
            complaint: "log.entries[1].request.headers[0]: the header name"),
        Mistake(
            text: request(
                #""method":"GET","url":"http://a.example/","postData":{"text":"*","_encoding":"base64"}"#
            ),
            complaint: "log.entries[1].request.postData.text is not base64"),
        Mistake(text: response(""), complaint: "log.entries[1].response.status is missing"),
        Mistake(
            text: response(#""status":"200""#),
            complaint: "log.entries[1].response.status: found a string; expected an integer"),
        Mistake(
            text: response(#""status":1e300"#),
            complaint:
                "log.entries[1].response.status: found a number; expected an integer"),
        Mistake(
            text: response(#""status":9223372036854775807"#),
            complaint: "log.entries[1].response.status: 9223372036854775807 is not an HTTP status"),
        Mistake(
            text: response(#""status":200,"content":[]"#),
            complaint: "log.entries[1].response.content: found an array; expected an object"),
        Mistake(
            text: response(#""status":200,"content":{"text":"%","encoding":"base64"}"#),
            complaint: "log.entries[1].response.content.text is not base64"),
        Mistake(
            text: response(#""status":200,"content":{"text":"x","encoding":"rot13"}"#),
            complaint: #"log.entries[1].response.content.encoding: "rot13" is not supported"#),
        Mistake(
            text: response(#""status":200,"headers":[{"name":"A","value":"a\rb\u0000"}]"#),
            complaint: "log.entries[1].response.headers[0]: the value of header"),
        Mistake(
            text: response(#""status":200,"cookies":[{"name":"a\u0000","value":"b"}]"#),
            complaint: "log.entries[1].response.cookies[0]"),
        Mistake(
            text: log(
                #"{"_turnpike":{"chunks":[-1]},"request":{"method":"GET","url":"http://a.example/"},"response":{"status":200}}"#
            ),
            complaint:
                "log.entries[1]._turnpike.chunks[0]: found a number; expected a size in bytes"),
        Mistake(
            text: log(
                #"{"_turnpike":7,"request":{"method":"GET","url":"http://a.example/"},"response":{"status":200}}"#
            ),
            complaint: "log.entries[1]._turnpike: found a number; expected an object"),
        Mistake(
            text: String(repeating: "[", count: 100_000), complaint: "nest deeper than"),
    ]

    @Test(
        "Mistakes in the file are refused with their path, and nothing traps",
        arguments: mistakes.filter { !$0.complaint.hasPrefix("log.entries[") })
    func refused(_ mistake: Mistake) throws {
        let folder = CassetteFolder()
        try folder.write(mistake.text)
        for mode in [CassetteTransport.Mode.replay, .recordMissing] {
            let error = #expect(throws: ClientError.self) {
                try CassetteTransport(file: folder.file, mode: mode, transport: MockTransport([]))
            }
            #expect(error?.code == .configuration)
            let message = error?.message ?? ""
            #expect(message.hasPrefix("the cassette tape.har: "))
            #expect(message.contains(mistake.complaint), "\(message)")
        }
    }

    @Test(
        "Mistakes in an exchange skip only that exchange, and are reported",
        arguments: mistakes.filter { $0.complaint.hasPrefix("log.entries[") })
    func skipped(_ mistake: Mistake) async throws {
        let folder = CassetteFolder()
        try folder.write(mistake.text)
        let tape = try CassetteTransport(file: folder.file)
        #expect(tape.skipped.count == 1)
        #expect(tape.skipped.first?.contains(mistake.complaint) == true, "\(tape.skipped)")
        let client = Client(transport: tape, stack: [])
        #expect(try await client.get("http://a.example/").response().status == 200)
        try tape.verify()
        let error = await #expect(throws: ClientError.self) {
            try await client.get("http://a.example/other").response()
        }
        #expect(error?.message.contains("1 of its exchanges cannot be played") == true)
        #expect(error?.message.contains(mistake.complaint) == true)
    }

    @Test("A skipped exchange stays in the file when it is written again")
    func kept() async throws {
        let folder = CassetteFolder()
        try folder.write(Self.log(#"{"request":"?","mark":[1,2]}"#))
        let tape = try CassetteTransport(
            file: folder.file, mode: .recordMissing, transport: MockTransport { _ in .status(204) })
        let client = Client(transport: tape, stack: [])
        _ = try await client.get("http://a.example/new").data()
        let file = try JSONValue(parsing: Data(contentsOf: folder.file))
        let entries = try #require(file["log"]?["entries"]?.array)
        #expect(entries.count == 3)
        #expect(entries[1] == ["request": "?", "mark": [1, 2]])
    }

    @Test("The error of a missing file says how to create it")
    func missing() {
        let folder = CassetteFolder()
        let error = #expect(throws: ClientError.self) { try CassetteTransport(file: folder.file) }
        #expect(error?.message.contains("set the mode to \"record\" or \"record-missing\"") == true)
    }

    @Test("A file that is cut off, or has a changed byte, is read or refused")
    func damaged() async throws {
        let folder = CassetteFolder()
        let (client, _, _) = try folder.recording { _ in
            .stream([Data("a".utf8), Data([0xFF])], headers: ["Set-Cookie": "a=b; Path=/"])
        }
        _ = try await client.post("http://a.example/?q=1", body: .text("x")).data()
        let good = try Data(contentsOf: folder.file)
        var generator = SeededGenerator(seed: 5)
        for _ in 0..<300 {
            var bad = good
            if Bool.random(using: &generator) {
                bad = bad.prefix(Int.random(in: 0..<bad.count, using: &generator))
            } else {
                let place = Int.random(in: 0..<bad.count, using: &generator)
                bad[place] = UInt8.random(in: 0...255, using: &generator)
            }
            try bad.write(to: folder.file)
            do {
                let (replay, _) = try folder.replaying()
                _ = try await replay.post("http://a.example/?q=1", body: .text("x")).data()
            } catch is ClientError {}
        }
    }
}
