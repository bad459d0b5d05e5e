// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeDownloads
import TurnpikeResumableUploads
import TurnpikeSupport

// The code of the page "Cookbook: streams and files"; a test compares them.

func complete(
    _ client: Client, _ prompt: String, _ show: (String) -> Void
) async throws -> String {
    let body: JSONValue = [
        "model": "small", "stream": true,
        "messages": [["role": "user", "content": .string(prompt)]],
    ]
    let events = client.post("chat/completions", body: .json(body))
        .retryable()  // 429, 503, a lost connection: as long as no answer has begun
        .deadline(.seconds(60))  // until the head
        .events(reconnects: 0, idleLimit: .seconds(30))
    var answer = ""
    for try await event in events {
        if event.data == "[DONE]" { return answer }
        let piece = try JSONValue(parsing: event.data)
        if let fault = piece["error"] {
            throw ClientError(.validation, "the model failed: \(fault)")
        }
        guard let text = piece["choices"]?[0]?["delta"]?["content"]?.string else { continue }
        answer += text
        show(text)
    }
    throw ClientError(.incomplete, "the answer ended before [DONE]")
}

func importOrders(_ client: Client, _ store: (Order) async throws -> Void) async throws -> Int {
    var count = 0
    for try await order in client.get("export").streaming().jsonLines(of: Order.self) {
        try await store(order)
        count += 1
    }
    return count
}

struct OrderLines: AsyncSequence, AsyncIteratorProtocol, Sendable {
    var rest: ArraySlice<Order>

    mutating func next() async throws -> Data? {
        try rest.popFirst().map { try JSONEncoder.turnpike.encode($0) + Data("\n".utf8) }
    }

    func makeAsyncIterator() -> Self { self }
}

func exportOrders(_ orders: [Order], _ client: Client) async throws {
    let body = RequestBody.stream(replayable: true, type: "application/x-ndjson") {
        OrderLines(rest: orders[...])
    }
    try await client.put("import", body: body).deadline(.seconds(600)).empty()
}

func send(_ video: URL, _ client: Client, _ show: (Double) -> Void) async throws -> JSONValue {
    let running = client.put("videos", body: .file(video, type: "video/mp4"))
        .deadline(.seconds(3600)).start(.json)
    for await progress in running.progress {
        show(progress.fractionSent ?? 0)
    }
    return try await running.value
}

func register(_ name: String, picture: URL, _ client: Client) async throws -> JSONValue {
    var form = MultipartFormData()
    form.append(name, name: "name")
    form.append(file: picture, name: "picture", type: "image/png")
    return try await client.post("members", multipart: form).deadline(.seconds(120)).json()
}

func fetch(_ name: String, sha256 expected: String, to place: URL, _ client: Client) async throws {
    let unchecked = place.appendingPathExtension("unchecked")
    try await client.get(.path("files/{name}", ["name": name])).deadline(.seconds(3600))
        .download(to: .file(unchecked).replacingFile())
    let found = try await SHA256.digest(ofFile: unchecked).hexadecimal
    guard found == expected.lowercased() else {
        try FileManager.default.removeItem(at: unchecked)
        throw ClientError(.download, "found \(name) with SHA-256 \(found); expected \(expected)")
    }
    try FileManager.default.moveItem(at: unchecked, to: place)
}

func fetchLarge(
    _ target: Target, to place: URL, _ client: Client, _ show: (Double?) -> Void
) async throws -> DownloadedFile {
    try await client.get(target).deadline(.seconds(3600)).idleTimeout(.seconds(60))
        .download(
            to: .file(place).replacingFile(),
            options: DownloadOptions(resumes: 10, keepsPartialFile: true)
        ) { progress in
            show(progress.fractionReceived)
        }
}

struct VideoReceipt: Decodable, Sendable { var id: String }

func sendLarge(
    _ video: URL, _ client: Client, _ show: @escaping @Sendable (Double?) -> Void
) async throws -> String {
    var options = ResumableUploadOptions()
    options.partBytes = 256 << 20
    let upload = try await client.post("videos", body: .file(video, type: "video/mp4"))
        .deadline(.seconds(600))  // for each part
        .resumable(options: options) { show($0.fractionSent) }
    return try await upload.response.decode(VideoReceipt.self).id
}
