// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

@Suite("EndpointFile")
struct EndpointFileTests {
    private let folder = TemporaryFolder()
    private var file: EndpointFile { EndpointFile(folder["list.json"]) }

    private func look(_ file: EndpointFile) async throws -> [String] {
        try await file.endpoints(in: Context()).endpoints.map(\.description)
    }

    private func fault(_ file: EndpointFile) async throws -> String {
        do {
            _ = try await look(file)
        } catch let error as ClientError where error.code == .configuration {
            return error.message
        }
        Issue.record("the file was used")
        return ""
    }

    private func replace(_ text: String) throws {
        try folder.write(text, to: "new")
        guard unsafe rename(folder["new"], folder["list.json"]) == 0 else {
            throw FileFault("rename a file")
        }
    }

    @Test("A new file replaces the list, by renaming and in place")
    func replacing() async throws {
        let file = EndpointFile(folder["list.json"], interval: .seconds(5))
        try folder.write(#"["a:1"]"#, to: "list.json")
        #expect(try await look(file) == ["a:1"])
        #expect(try await file.endpoints(in: Context()).freshFor == .seconds(5))
        try replace(#"["b:1", "c:1"]"#)
        #expect(try await look(file) == ["b:1", "c:1"])
        // The same size, and perhaps the same tick of the file system's clock.
        try folder.write(#"["d:1", "e:1"]"#, to: "list.json")
        #expect(try await look(file) == ["d:1", "e:1"])
    }

    @Test("A file that is changed within one tick of its clock is seen at the next look")
    func sameTick() async throws {
        let file = file
        for number in 0..<200 {
            try folder.write("[\"a:\(1000 + number)\"]", to: "list.json")
            let before = try await look(file)
            try folder.write("[\"b:\(1000 + number)\"]", to: "list.json")
            #expect(before == ["a:\(1000 + number)"])
            #expect(try await look(file) == ["b:\(1000 + number)"])
        }
    }

    @Test("A wrong file is an error at each look until it is mended")
    func wrong() async throws {
        let file = file
        #expect(try await fault(file).contains("list.json cannot be used: cannot open it: No such"))
        try folder.write(#"["a:1"]"#, to: "list.json")
        #expect(try await look(file) == ["a:1"])
        try replace(#"["a:1", "b:"#)
        for _ in 0..<4 {
            #expect(
                try await fault(file).contains("is not JSON, or not complete: line 1, column"))
        }
        try replace("")
        #expect(try await fault(file).contains("is not JSON"))
        try replace(#"["a:1", {"address": "b", "port": 0}]"#)
        for _ in 0..<4 {
            #expect(
                try await fault(file).contains(
                    "list.json cannot be used: endpoints[1]: found the port 0"))
        }
        try replace(#"{"a": 1, "a": 2}"#)
        #expect(try await fault(file).contains("two members have this name"))
        try replace(String(repeating: "[", count: 100_000))
        #expect(try await fault(file).contains("nest deeper than 8"))
        try FileManager.default.removeItem(atPath: folder["list.json"])
        #expect(try await fault(file).contains("cannot open it"))
        try replace(#"["b:1"]"#)
        #expect(try await look(file) == ["b:1"])
    }

    @Test("Links are followed anew at each look, as in a volume of Kubernetes")
    func links() async throws {
        for version in ["1", "2"] {
            try folder.makeFolder(version)
            try folder.write("[\"a:\(version)\"]", to: "\(version)/list.json")
        }
        try folder.link("data", to: "1")
        try folder.link("list.json", to: "data/list.json")
        let file = file
        #expect(try await look(file) == ["a:1"])
        #expect(try await look(file) == ["a:1"])
        try folder.link("next", to: "2")
        guard unsafe rename(folder["next"], folder["data"]) == 0 else { throw FileFault("rename") }
        #expect(try await look(file) == ["a:2"])
    }

    @Test("What is no regular file is an error and blocks nobody")
    func notRegular() async throws {
        try folder.makePipe("list.json")
        #expect(try await fault(file).contains("cannot be used: expected a regular file"))
        #expect(try await fault(EndpointFile(folder.path)).contains("expected a regular file"))
        #expect(try await fault(EndpointFile("/dev/zero")).contains("expected a regular file"))
        #expect(try await fault(EndpointFile("")).contains("cannot open it"))
    }

    @Test("A file of more than 16 MiB is not read")
    func size() async throws {
        try folder.write("", to: "list.json")
        let handle = try #require(FileHandle(forWritingAtPath: folder["list.json"]))
        try handle.truncate(atOffset: 1 << 40)
        try handle.close()
        #expect(
            try await fault(file).contains("found 1099511627776 bytes; expected at most 16777216"))
    }

    @Test("A name of 1 MB is an error of a few words")
    func longName() async throws {
        let name = String(repeating: "x", count: 1 << 20)
        try folder.write(
            "[{\"address\": \"\(name)\", \"port\": 1}, \"\(name):1\"]", to: "list.json")
        let message = try await fault(file)
        #expect(message.contains("endpoints[0]") && message.contains("endpoints[1]"))
        #expect(message.utf8.count < 1000)
    }

    @Test("An unchanged list keeps its storage")
    func unchanged() async throws {
        let list = (0..<1000).map { "\"10.0.\($0 / 250).\($0 % 250):80\"" }.joined(separator: ",")
        try folder.write("[\(list)]", to: "list.json")
        let file = file
        let first = try await file.endpoints(in: Context()).endpoints
        try replace("[ \(list) ]")
        let second = try await file.endpoints(in: Context()).endpoints
        let isSame = unsafe first.withUnsafeBufferPointer { first in
            unsafe second.withUnsafeBufferPointer { unsafe first.baseAddress == $0.baseAddress }
        }
        #expect(isSame)
    }

    @Test("A mutated file is a valid list or an error, and never traps")
    func mutations() throws {
        let seed = #"""
            {"endpoints": ["10.0.0.7:8080", "[2001:db8::7]:80", "unix:/run/x.sock", "users.internal:81",
            {"address": "10.0.0.8", "port": 8080, "weight": 0.5, "zone": "a", "labels": {"v": "7"}}]}
            """#
        let pieces = [
            "\"", ":", "[", "]", "{", "}", ",", "0", "-1", "1e999", "NaN", "null", "\\u0000",
            "\\ud800",
            "weight", "port", "address", "unix:", "::", "%", ".", "65536", "1e308", "\u{301}",
        ]
        var lists = 0
        for number in 0..<6000 as Range<UInt64> {
            var generator = SeededGenerator(seed: number)
            var bytes = Array(seed.utf8)
            for _ in 0..<generator.int(1...4) {
                let place = generator.int(0...bytes.count - 1)
                switch generator.int(0...4) {
                case 0:
                    bytes.removeSubrange(place..<min(place + generator.int(1...20), bytes.count))
                case 1: bytes[place] = UInt8(generator.int(0...255))
                case 2: bytes.insert(contentsOf: generator.pick(pieces).utf8, at: place)
                case 3: bytes.insert(contentsOf: bytes.suffix(generator.int(1...60)), at: place)
                default: bytes = Array(bytes.prefix(max(place, 1)))
                }
                if bytes.isEmpty { bytes = [0x20] }
            }
            guard let value = try? JSONValue(parsing: Data(bytes)) else { continue }
            let check = EndpointReader.read(value)
            do {
                let endpoints = try check.result(of: "it")
                lists += 1
                let isSound = endpoints.allSatisfy {
                    $0.target.fault == nil && $0.weight > 0 && $0.weight.isFinite
                }
                #expect(isSound && !endpoints.isEmpty, "seed \(number)")
                #expect(Set(endpoints.map(\.target)).count == endpoints.count, "seed \(number)")
            } catch {
                let message = (error as? ClientError)?.message ?? ""
                #expect(message.contains("expected") || message.contains("no such member"))
                #expect(message.utf8.count < 2000, "seed \(number)")
            }
        }
        #expect(lists > 100)
    }
}
