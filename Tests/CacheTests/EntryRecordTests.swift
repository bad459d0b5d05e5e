// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TurnpikeCache
@testable import TurnpikeCore

@Suite("Entries as bytes")
struct EntryRecordTests {
    private let content = Data("some content".utf8)

    private func response(_ headers: HTTPHeaders = [:], at seconds: Double = 0) -> StoredResponse {
        StoredResponse(
            key: CacheKey(url: "http://a.example/päth?q=1", partition: "someone"),
            variant: Variant(fields: [
                .init(name: "accept", value: nil), .init(name: "accept-language", value: "de"),
            ]),
            head: ResponseHead(
                status: .ok, headers: fields(headers),
                url: URL(string: "http://a.example/p%C3%A4th?q=1") ?? URL(filePath: "/"),
                version: "HTTP/1.1"),
            requestTime: Date(timeIntervalSinceReferenceDate: 99.125 + seconds),
            responseTime: Date(timeIntervalSinceReferenceDate: 100.25 + seconds))
    }

    private func fields(_ more: HTTPHeaders) -> HTTPHeaders {
        var headers: HTTPHeaders = ["ETag": "\"1\"", "X-Two": "a", "x-two": "b"]
        for field in more { headers.append(field.name, field.value) }
        return headers
    }

    private func bytes(_ record: EntryRecord) -> Data { content + record.tail }

    @Test("A record has all of a response, and the same bytes when it is made again")
    func whole() throws {
        let record = EntryRecord(response(), content: content)
        let read = try #require(EntryRecord.read(bytes(record)))
        let found = read.response
        let part = try #require(read.content(of: bytes(record)))
        #expect(part == content && part.startIndex == 0)
        #expect(read == record)
        #expect(found.key == response().key && found.variant == response().variant)
        #expect(found.head.headers.map(\.value) == response().head.headers.map(\.value))
        #expect(found.responseTime == response().responseTime)
        #expect(EntryRecord(found, content: content).tail == record.tail)
        #expect(record.contentLength == 12)
    }

    @Test("Bytes that were cut off or changed are no record, or have another content")
    func damage() throws {
        let whole = bytes(EntryRecord(response(), content: content))
        func isWhole(_ bytes: Data) -> Bool {
            EntryRecord.read(bytes)?.content(of: bytes) != nil
        }
        #expect(isWhole(whole))
        for count in 0..<whole.count {
            #expect(!isWhole(whole.prefix(count)))
            #expect(!isWhole(whole.suffix(count)))
            var changed = whole
            changed[count] ^= 0x41
            #expect(!isWhole(changed))
        }
        #expect(!isWhole(whole + Data([0])))
    }

    @Test("Another head keeps the content, and a tail tells records of one key apart")
    func replaced() throws {
        let record = EntryRecord(response(), content: content)
        let other = record.replacing(response(["X-New": "1"], at: 60))
        #expect(other != record && other.tail != record.tail)
        let read = try #require(EntryRecord.read(bytes(other), knowing: record))
        #expect(read == other && read.response.head.headers["X-New"] == "1")
        #expect(read.content(of: bytes(other)) == content)
        #expect(read.content(of: Data("another one!".utf8) + other.tail) == nil)
        #expect(read.content(of: content.dropFirst() + other.tail) == nil)
        #expect(EntryRecord(tail: other.tail)?.contentLength == 12)
    }

    @Test("A head that is known is not read again; another, a shorter or a damaged one is")
    func known() throws {
        let record = EntryRecord(response(), content: content)
        let whole = bytes(record)
        // Damage that only a reading of the head would find.
        var head = whole
        head[content.count + 8] ^= 0x41
        #expect(EntryRecord.read(head) == nil)
        #expect(EntryRecord.read(head, knowing: record) == record)
        let other = EntryRecord(response(), content: content + Data("!".utf8))
        #expect(EntryRecord.read(whole, knowing: other) == record)
        for count in 0..<whole.count {
            #expect(EntryRecord.read(whole.suffix(count), knowing: record) == nil)
        }
        for place in whole.indices.suffix(EntryRecord.closingBytes) {
            var closing = whole
            closing[place] ^= 0x41
            #expect(EntryRecord.read(closing, knowing: record) == nil)
        }
    }

    @Test(
        "An entry is of use while it is fresh, and then as long as it may be used or validated",
        arguments: [
            ("max-age=60", false, 360), ("max-age=60, stale-while-revalidate=900", false, 960),
            ("max-age=60, stale-if-error=20", false, 80), ("max-age=60", true, 4060),
        ])
    func use(_ control: String, _ hasTag: Bool, _ seconds: Int) {
        let response = StoredResponse(
            key: CacheKey(url: "http://a.example/"), variant: Variant(fields: []),
            head: ResponseHead(
                status: .ok,
                headers: hasTag
                    ? ["Cache-Control": control, "ETag": "\"1\""] : ["Cache-Control": control],
                url: URL(string: "http://a.example/") ?? URL(filePath: "/")),
            requestTime: Date(timeIntervalSince1970: 0),
            responseTime: Date(timeIntervalSince1970: 0))
        #expect(response.timeOfUse(staleTime: .seconds(4000)) == .seconds(seconds))
    }
}
