// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike
import TurnpikeTesting

@Suite("Multipart upload")
struct MultipartUploadTests {
    @Test("Files and data arrive byte for byte, with a length and without a copy")
    func arrives() async throws {
        let file = FileManager.default.temporaryDirectory
            .appending(path: "turnpike-\(UUID().uuidString).png")
        defer { try? FileManager.default.removeItem(at: file) }
        let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try bytes.write(to: file)
        let server = try TestServer()
        server.route("/form", .status(200))
        var form = MultipartFormData(boundary: "B")
        form.append("Ada", name: "user")
        form.append(file: file, name: "one", filename: "a.png")
        form.append(.file(file, range: 10..<20, type: .octetStream), name: "two")
        let client = Client(baseURL: server.target, stack: [])
        let running = client.post("form", multipart: form).start(.empty)
        var last = TransferProgress()
        for await progress in running.progress { last = progress }
        try await running.value
        let request = try #require(server.requests(to: "/form").first)
        let expected =
            Data(
                "--B\r\nContent-Disposition: form-data; name=\"user\"\r\n\r\nAda\r\n--B\r\nContent-Disposition: form-data; name=\"one\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n"
                    .utf8) + bytes
            + Data(
                "\r\n--B\r\nContent-Disposition: form-data; name=\"two\"\r\nContent-Type: application/octet-stream\r\n\r\n"
                    .utf8) + bytes[10..<20] + Data("\r\n--B--\r\n".utf8)
        #expect(request.body == expected)
        #expect(request.headers[.contentLength] == String(expected.count))
        #expect(request.headers[.contentType] == "multipart/form-data; boundary=B")
        #expect(last.bytesSent == Int64(expected.count))
        #expect(last.totalToSend == Int64(expected.count))
    }
}
