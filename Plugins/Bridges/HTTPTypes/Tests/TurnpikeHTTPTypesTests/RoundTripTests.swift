// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Testing
import Turnpike
import TurnpikeHTTPTypes

@Suite("Round trips of random messages")
struct RoundTripTests {
    /// Creates messages from valid parts and from parts that must be rejected.
    private struct Maker {
        var random: SeededGenerator

        mutating func one<Value>(_ values: [Value]) -> Value {
            values[Int.random(in: 0..<values.count, using: &random)]
        }

        mutating func text(_ alphabet: String, upTo count: Int) -> String {
            let letters = Array(alphabet)
            return String((0..<Int.random(in: 0...count, using: &random)).map { _ in one(letters) })
        }

        mutating func path() -> String {
            let isOdd = Int.random(in: 0..<4, using: &random) == 0
            let letters = isOdd ? "ab./%:@!$&'()*+,;=\"<>[]\\^`{|} ü" : "abz09-_~:@!$&'()*+,;="
            return (0...Int.random(in: 0...3, using: &random)).map { _ in
                "/" + text(letters, upTo: 4) + one(["", "%20", "%2F", "."])
            }.joined() + one(["", "", "?", "?" + text(isOdd ? "&%?#2 " : "ab=&?/2", upTo: 8)])
        }

        mutating func authority() -> String {
            one(["example.com", "Example.COM", "127.0.0.1", "[::1]", "a_b", "x."])
                + one(["", "", ":80", ":8443", "", "", ":1", ":0", ":65536", ":", "@h", "é", "/"])
        }

        mutating func fields() -> HTTPFields {
            var fields = HTTPFields()
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                let name = HTTPField.Name(one(["X-A", "x-a", "Cookie", "Set-Cookie", "!#$%"]))
                guard let name else { continue }
                let bytes = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                    one(Array("ab ,;\t\"".utf8) + Array("xyüz".utf8) + [0, 7, 10, 13, 0x7F, 0x80])
                }
                var field = HTTPField(name: name, lenientValue: bytes)
                field.indexingStrategy = one([.automatic, .prefer, .avoid, .disallow])
                fields.append(field)
            }
            return fields
        }
    }

    // Removes the indexing strategy and the blanks around a value, which Turnpike does not keep.
    private func known(_ fields: HTTPFields) -> HTTPFields {
        HTTPFields(
            fields.map { field in
                let value = field.value.trimming { $0 == " " || $0 == "\t" }
                return HTTPField(name: field.name, lenientValue: value.utf8)
            })
    }

    @Test("A request of theirs is refused, or comes back as it was")
    func theirs() throws {
        var kept = 0
        for seed in UInt64(0)..<4_000 {
            var maker = Maker(random: SeededGenerator(seed: seed))
            let method = maker.one([HTTPRequest.Method.get, .post, .put, .options, .connect])
            let hasPlace = maker.one([true, true, true, false])
            var request = HTTPRequest(
                method: method,
                scheme: hasPlace
                    ? maker.one(["https", "http", "https", "http", "HTTP", "ftp"]) : nil,
                authority: hasPlace || maker.one([true, false]) ? maker.authority() : nil,
                path: maker.one(["*", "", maker.path(), maker.path(), maker.path(), maker.path()]))
            request.headerFields = maker.fields()
            guard let ours = try? Request(request) else { continue }
            if request.scheme == nil {
                #expect(ours.fault != nil, "seed \(seed): a relative request has no URL")
                continue
            }
            kept += 1
            let back = try HTTPRequest(ours)
            #expect(back.pseudoHeaderFields == request.pseudoHeaderFields, "seed \(seed)")
            #expect(Array(back.headerFields) == Array(known(request.headerFields)), "seed \(seed)")
        }
        #expect(kept > 200, "most requests were refused, so that little was tried")
    }

    @Test("A request of ours is refused, or comes back as it was")
    func ours() throws {
        var kept = 0
        for seed in UInt64(0)..<4_000 {
            var maker = Maker(random: SeededGenerator(seed: seed))
            let text = maker.one(["http://", "https://"]) + maker.authority() + maker.path()
            var request = Request(maker.one([.get, .put, .options, "X"]), Target(text))
            for field in maker.fields() {
                request.headers.appendReceived(HTTPHeaders.Name(field.name.rawName), field.value)
            }
            guard let theirs = try? HTTPRequest(request) else { continue }
            kept += 1
            let back = try Request(theirs)
            #expect(back.method == request.method, "seed \(seed)")
            #expect(
                back.targetURI.originForm == request.targetURI.originForm
                    && back.origin == request.origin && back.asksServer == request.asksServer,
                "seed \(seed): \(request) became \(back)")
            #expect(back.headers == request.headers, "seed \(seed)")
        }
        #expect(kept > 200, "most requests were refused, so that little was tried")
    }

    @Test("A response of theirs comes back as it was")
    func responses() throws {
        let request = Request(.get, "https://example.com/")
        for seed in UInt64(0)..<2_000 {
            var maker = Maker(random: SeededGenerator(seed: seed))
            let theirs = HTTPResponse(
                status: .init(code: Int.random(in: 0...999, using: &maker.random)),
                headerFields: maker.fields())
            guard let ours = try? Response(theirs, to: request) else { continue }
            let back = try HTTPResponse(ours.head)
            #expect(back.status == theirs.status, "seed \(seed)")
            #expect(Array(back.headerFields) == Array(known(theirs.headerFields)), "seed \(seed)")
        }
    }
}

extension String {
    fileprivate func trimming(_ isBlank: (Character) -> Bool) -> String {
        var rest = self[...]
        while let first = rest.first, isBlank(first) { rest.removeFirst() }
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return String(rest)
    }
}
