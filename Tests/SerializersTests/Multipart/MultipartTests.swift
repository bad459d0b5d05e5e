// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeSerializers

private func content(_ form: MultipartFormData) async throws -> String {
    let reader = try RequestBody.multipart(form).open()
    var data = Data()
    while let chunk = try await reader.next() { data += chunk }
    #expect(RequestBody.multipart(form).length == Int64(data.count))
    return String(decoding: data, as: UTF8.self)
}

private func temporaryFile(_ name: String, _ content: Data) throws -> URL {
    let directory = FileManager.default.temporaryDirectory
        .appending(path: "turnpike-" + UUID().uuidString)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let file = directory.appending(path: name)
    try content.write(to: file)
    return file
}

@Suite("Multipart form data")
struct MultipartTests {
    @Test("A text is a part with its name")
    func text() async throws {
        var form = MultipartFormData(boundary: "BOUNDARY")
        form.append("Lorem ipsum dolor sit amet.", name: "data")
        #expect(
            try await content(form)
                == "--BOUNDARY\r\nContent-Disposition: form-data; name=\"data\"\r\n"
                + "\r\nLorem ipsum dolor sit amet.\r\n--BOUNDARY--\r\n")
    }

    @Test("Parts stand in order, with their types")
    func several() async throws {
        var form = MultipartFormData(boundary: "BOUNDARY")
        form.append("français", name: "french")
        form.append("日本語", name: "japanese", type: .plainText)
        form.append("😃👍🏻🍻🎉", name: "emoji", type: .plainText)
        #expect(
            try await content(form)
                == "--BOUNDARY\r\nContent-Disposition: form-data; name=\"french\"\r\n\r\nfrançais\r\n"
                + "--BOUNDARY\r\nContent-Disposition: form-data; name=\"japanese\"\r\n"
                + "Content-Type: text/plain\r\n\r\n日本語\r\n"
                + "--BOUNDARY\r\nContent-Disposition: form-data; name=\"emoji\"\r\n"
                + "Content-Type: text/plain\r\n\r\n😃👍🏻🍻🎉\r\n--BOUNDARY--\r\n")
    }

    @Test(
        "A file has the type of its extension",
        arguments: [
            ("a known extension", "unicorn.png", "image/png"),
            ("an unknown extension", "x.zzzzz", "application/octet-stream"),
            ("capitals", "A.JPG", "image/jpeg"),
        ])
    func file(id: String, name: String, type: String) async throws {
        let file = try temporaryFile(name, Data("bytes".utf8))
        defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
        var form = MultipartFormData(boundary: "B")
        form.append(file: file, name: "unicorn")
        #expect(
            try await content(form)
                == "--B\r\nContent-Disposition: form-data; name=\"unicorn\"; filename=\"\(name)\"\r\n"
                + "Content-Type: \(type)\r\n\r\nbytes\r\n--B--\r\n")
    }

    @Test("Names and file names are escaped")
    func escaping() async throws {
        var form = MultipartFormData(boundary: "BOUNDARY")
        form.append(Data("z".utf8), name: "a\"b", filename: "c\r\nX: y")
        #expect(
            try await content(form)
                == "--BOUNDARY\r\nContent-Disposition: form-data; name=\"a%22b\"; filename=\"c%0D%0AX: y\"\r\n"
                + "\r\nz\r\n--BOUNDARY--\r\n")
    }

    @Test(
        "A mistake in a part fails the call before anything is sent",
        arguments: [
            "remote file", "no extension", "header", "boundary", "empty boundary", "missing file",
        ])
    func refusals(id: String) async throws {
        var form = MultipartFormData(
            boundary: id == "boundary" ? "a\r\nb" : id == "empty boundary" ? "" : nil)
        switch id {
        case "remote file":
            form.append(file: try #require(URL(string: "http://h/x.png")), name: "f")
        case "no extension": form.append(file: URL(filePath: "/tmp/noextension"), name: "f")
        case "header": form.append(.text("x"), name: "f", headers: ["X-A": "b\r\nc"])
        case "missing file": form.append(file: URL(filePath: "/nonexistent/a.txt"), name: "f")
        default: break
        }
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport: transport, stack: [], serializers: .standard)
        let error = await #expect(throws: ClientError.self) {
            try await client.post(anywhere, multipart: form).data()
        }
        #expect(error?.code == (id == "missing file" ? .upload : .invalidRequest))
        #expect(transport.sentCount == 0)
    }

    @Test("Content in memory stays in memory")
    func memory() {
        var form = MultipartFormData()
        form.append(Data(count: 9_999_999), name: "part")
        #expect(
            RequestBody.multipart(form).inMemory?.count
                == RequestBody.multipart(form).length.map(Int.init))
    }

    @Test("Each form has a random boundary of its own")
    func boundaries() {
        let boundaries = Set((0..<100).map { _ in MultipartFormData().boundary })
        #expect(boundaries.count == 100)
        for boundary in boundaries {
            #expect(boundary.wholeMatch(of: /turnpike-[0-9a-f]{32}/) != nil)
        }
    }

    @Test("The body's type names the boundary, quoted where it must be")
    func contentType() {
        #expect(
            RequestBody.multipart(MultipartFormData(boundary: "abc")).contentType?.description
                == "multipart/form-data; boundary=abc")
        #expect(
            RequestBody.multipart(MultipartFormData(boundary: "a b:c")).contentType?.description
                == "multipart/form-data; boundary=\"a b:c\"")
    }

    @Test("A form can be sent again unless a part is a one-shot stream")
    func replay() async throws {
        var form = MultipartFormData(boundary: "B")
        form.append("x", name: "a")
        let body = RequestBody.multipart(form)
        _ = try await content(form)
        #expect(body.isReplayable)
        form.append(
            .stream(length: 3) {
                AsyncStream {
                    $0.yield(Data("abc".utf8))
                    $0.finish()
                }
            }, name: "s")
        let once = RequestBody.multipart(form)
        #expect(once.isReplayable && once.length != nil)
        _ = try once.open()
        var reader: RequestBodyReader? = try once.open()
        _ = try await reader?.next()
        _ = try await reader?.next()
        _ = try await reader?.next()
        await #expect(throws: Never.self) { while try await reader?.next() != nil {} }
        reader = nil
        #expect(!once.isReplayable)
    }

    @Test("A file that shrinks while it is sent is an error, not a short body")
    func shrinking() async throws {
        let file = try temporaryFile("a.bin", Data(count: 300_000))
        defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
        var form = MultipartFormData()
        form.append(file: file, name: "f")
        let reader = try RequestBody.multipart(form).open()
        _ = try await reader.next()
        _ = try await reader.next()
        try Data(count: 10).write(to: file, options: [])
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: 10)
        await expectError(.upload) { while try await reader.next() != nil {} }
    }

    @Test(
        "Content that contains the boundary is refused, because its rest would be read as parts",
        arguments: ["--B", "x\r\n--B\r\n\r\ny", "x\n--B--", "a --B"])
    func boundaryInContent(text: String) {
        var form = MultipartFormData(boundary: "B")
        form.append(text, name: "a")
        let fault = #expect(throws: ClientError.self) { try RequestBody.multipart(form).open() }
        #expect(fault?.code == .invalidRequest)
        #expect(fault?.message.contains("boundary") == true)
    }

    @Test("Text that resembles the boundary is allowed, and a random boundary needs no check")
    func noBoundaryInContent() async throws {
        var form = MultipartFormData(boundary: "B")
        form.append("-B --b B--", name: "a")
        #expect(try await content(form).contains("-B --b B--"))
        var other = MultipartFormData()
        other.append("--B", name: "a")
        #expect(try await content(other).contains("--B"))
    }

    @Test(
        "The boundary is added to any multipart type that the caller names",
        arguments: [
            ("multipart/form-data", "multipart/form-data; boundary=B"),
            ("multipart/mixed; a=b; boundary=other", "multipart/mixed; a=b; boundary=B"),
            ("Multipart/Mixed; boundary=\"B\"", "Multipart/Mixed; boundary=\"B\""),
            ("application/octet-stream", "application/octet-stream"),
            (nil, "multipart/form-data; boundary=B"),
        ] as [(String?, String)])
    func namedType(given: String?, sent: String) async throws {
        var form = MultipartFormData(boundary: "B")
        form.append("x", name: "a")
        let transport = MockTransport { _ in .ok(text: "x") }
        let headers: HTTPHeaders = given.map { ["Content-Type": $0] } ?? [:]
        _ = try await Client(transport: transport, stack: [], serializers: .standard)
            .post(anywhere, multipart: form, headers: headers).response()
        #expect(transport.sent.last?.request.headers[.contentType] == sent)
    }

    @Test("A part's file that is missing fails the call before anything is sent")
    func missingFile() async throws {
        var form = MultipartFormData()
        form.append(file: URL(filePath: "/nonexistent/x.txt"), name: "f")
        let transport = MockTransport { _ in .ok(text: "x") }
        let error = await #expect(throws: ClientError.self) {
            try await Client(transport: transport, stack: [], serializers: .standard)
                .post(anywhere, multipart: form).response()
        }
        #expect(error?.code == .upload)
        #expect(error?.attempts == 0 && transport.sent.isEmpty)
    }
}
