// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike

/// The transport without a network of the article.
private struct FileTransport: Transport {
    final class FileSource: ResponseBodySource {
        private let file: Mutex<FileHandle?>
        private let context: Context

        init(_ file: sending FileHandle, _ context: Context) {
            self.file = Mutex(file)
            self.context = context
        }

        func next() async throws -> Data? {
            try context.checkCancellation()
            return try file.withLock { try $0?.read(upToCount: 65_536) }
        }

        func cancel(_ reason: CancelReason) { file.withLock { $0 = nil } }
    }

    let folder: URL
    var capabilities: TransportCapabilities { [] }

    func send(_ request: Request, context: Context) async throws -> Response {
        try context.checkCancellation()
        guard let file = try? FileHandle(forReadingFrom: file(for: request)) else {
            return Response(to: request, status: .notFound)
        }
        let length = Int64(try file.seekToEnd())
        try file.seek(toOffset: 0)
        return Response(
            to: request, status: .ok, headers: ["Content-Length": "\(length)"],
            body: ResponseBody(source: FileSource(file, context), length: length))
    }

    func shutdown() async {}

    // This folder has no others.
    private func file(for request: Request) -> URL {
        folder.appending(path: request.url.lastPathComponent)
    }
}

@Suite("Writing a transport")
struct WritingATransportExamples {
    @Test("A file is a response")
    func files() async throws {
        let place = URL(filePath: #filePath)
        let client = Client(
            baseURL: "http://files.example/",
            transport: FileTransport(folder: place.deletingLastPathComponent()))
        let text = try await client.get(place.lastPathComponent).data()
        #expect(text == (try Data(contentsOf: place)))
        let error = await #expect(throws: ClientError.self) { try await client.get("none").empty() }
        #expect(error?.code == .validation)
    }
}
