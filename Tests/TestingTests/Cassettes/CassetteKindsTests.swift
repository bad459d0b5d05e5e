// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeRedaction

@Suite("Kinds of content in cassettes")
struct CassetteKindsTests {
    private let folder = CassetteFolder()

    // As it is, and in what stands in base64 of either alphabet.
    private func leak(in text: String) -> String? {
        let secrets = [RecordedKind.word, RecordedKind.made, RecordedKind.code]
        if let secret = secrets.first(where: text.contains) { return secret }
        return text.split { !($0.isASCII && ($0.isLetter || $0.isNumber || "+/-_".contains($0))) }
            .lazy.filter { $0.count >= 16 }
            .compactMap { Base64.decode($0.utf8) }
            .compactMap { plain in
                let text = String(decoding: plain, as: UTF8.self)
                return secrets.first(where: text.contains)
            }.first
    }

    private func record(
        _ kind: RecordedKind, chunk: Int = .max, options: CassetteOptions = CassetteOptions()
    ) async throws -> CassetteTransport {
        var headers: HTTPHeaders = [:]
        var target = "https://a.example/x"
        var content = Data("x".utf8)
        switch kind.place {
        case .content(let type):
            if !type.isEmpty { headers["Content-Type"] = type }
            content = kind.bytes
        case .field(let name):
            headers[HTTPHeaders.Name(name)] = String(decoding: kind.bytes, as: UTF8.self)
        case .query: target += "?" + String(decoding: kind.bytes, as: UTF8.self)
        }
        let answer = headers
        let chunks = stride(from: 0, to: content.count, by: min(chunk, content.count)).map {
            Data(content.dropFirst($0).prefix(chunk))
        }
        let (client, cassette, _) = try folder.recording(options: options) { _ in
            .stream(chunks, headers: answer)
        }
        _ = try await client.request(
            .post, Target(target), headers: headers, body: .data(content)
        ).data()
        try cassette.save()
        return cassette
    }

    @Test("No kind keeps a secret, in whatever chunks it comes", arguments: RecordedKind.all)
    func kinds(kind: RecordedKind) async throws {
        for chunk in [Int.max, 3] {
            let cassette = try await record(kind, chunk: chunk)
            let text = try folder.text()
            #expect(leak(in: text) == nil, "\(text)")
            #expect(cassette.withheld.isEmpty == (kind.fate == .shown), "\(cassette.withheld)")
            if String(decoding: kind.bytes, as: UTF8.self).contains(RecordedKind.kept),
                kind.fate == .shown
            {
                #expect(text.contains(RecordedKind.kept), "\(text)")
            }
        }
    }

    @Test("No kind shows a secret in a log", arguments: RecordedKind.all)
    func logs(kind: RecordedKind) {
        switch kind.place {
        case .content(let type):
            let shown = Redaction.standard.content(kind.bytes, type: MediaType(parsing: type))
            #expect(leak(in: shown) == nil, "\(shown)")
        case .field(let name):
            let text = String(decoding: kind.bytes, as: UTF8.self)
            #expect(leak(in: "\(HTTPHeaders([(name, text)]))") == nil)
        case .query:
            let text = String(decoding: kind.bytes, as: UTF8.self)
            #expect(leak(in: Redaction.standard.url("https://a.example/?\(text)")) == nil)
        }
    }

    @Test(
        "A type that nothing reads is recorded if it is allowed, without the known secrets",
        arguments: ["application/cbor", "application/*", "*/*"])
    func allowed(type: String) async throws {
        let options = CassetteOptions(
            redaction: .standard, allowedTypes: [try #require(MediaType(parsing: type))])
        let bytes =
            Data([0xA1, 0x61]) + Data("a".utf8) + Data([0x6D]) + Data(RecordedKind.kept.utf8)
        let kind = RecordedKind("CBOR", .content(type: "application/cbor"), bytes)
        let cassette = try await record(kind, options: options)
        #expect(cassette.withheld.isEmpty)
        let entry = try folder.entries()[0]
        #expect(entry["response"]?["content"]?["text"]?.string == bytes.base64EncodedString())

        let (client, _, _) = try folder.recording(options: options) { _ in
            .status(
                200, headers: ["Content-Type": "application/cbor"],
                body: bytes + Data(RecordedKind.word.utf8))
        }
        _ = try await client.get("https://a.example/", headers: ["X-Api-Key": RecordedKind.word])
            .data()
        let text = try #require(
            try folder.entries()[0]["response"]?["content"]?["text"]?.string)
        let data = try #require(Data(base64Encoded: text))
        #expect(data.starts(with: bytes) && data.range(of: Data(RecordedKind.word.utf8)) == nil)
    }

    @Test("Another type that nothing reads is still withheld")
    func otherType() async throws {
        let options = CassetteOptions(allowedTypes: ["application/yaml"])
        let kind = RecordedKind("CBOR", .content(type: "application/cbor"), Data([0xA0, 0xA0]))
        let cassette = try await record(kind, options: options)
        #expect(cassette.withheld.count == 2)
        #expect(cassette.withheld[0].contains("CBOR of 2 bytes"))
        #expect(cassette.withheld[0].contains("this kind is not parsed"))
    }

    @Test("A range of a table or of JSON that begins within it is withheld")
    func ranges() async throws {
        for (type, text) in [
            ("text/csv", "1,planted\n"), ("application/json", "\"planted\""),
        ] {
            let (client, cassette, _) = try folder.recording { _ in
                .status(
                    206, headers: ["Content-Type": type, "Content-Range": "bytes 20-28/90"],
                    body: Data(text.utf8))
            }
            _ = try await client.get("https://a.example/", headers: ["Range": "bytes=20-28"]).data()
            #expect(cassette.withheld.count == 1, "\(type)")
            #expect(try !folder.text().contains("planted"), "\(type)")
        }
    }
}
