// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike

/// Responses whose heads are out of shape, by a seed and their number alone.
struct FuzzHeads {
    private var random: SeededGenerator

    /// A response of the list below, or one that is made of its parts and bent at random.
    ///
    /// Each fourth is of the list: what has crashed a library once must be met by every run.
    static func response(seed: UInt64, number: Int) -> Data {
        if number % 4 == 0 { return Data(known[number / 4 % known.count].utf8) }
        var heads = FuzzHeads(random: SeededGenerator(seed: seed &* 1_000_003 &+ UInt64(number)))
        return heads.next()
    }

    private static let known = [
        // libcurl 7.84 to 8.0 add such a line to the last field of the response before.
        "HTTP/1.1 200 OK\r\n X: y\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\tX: y\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\n X: y\nContent-Length: 0\n\n",
        "HTTP/1.1 103 Early Hints\r\n X: y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\n X: y\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n \r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n" + String(repeating: " ", count: 5000) + "X: y\r\n\r\n",
    ]

    private static let fields = [
        "X: y", " X: y", "\tX: y", " ", "\t", "X: y\r\n z", "X: y\r\n\t", "X: y\r\n \r\n z", ": y",
        "X",
        "X :y", "X:", "\0: y", "X: \0y", "X\0: y", "\r", "\u{B}: y", "é: ü", "HTTP/1.1 200 OK", "H",
        "Content-Length: 2", "Content-Length : 2", "Content-Length:\r\n 2", "Content-Length: -1",
        "Content-Length: 2, 2", "Content-Length: 18446744073709551617",
        "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding:\r\n chunked", "Content-Encoding: gzip", "Connection: close",
        "Connection: keep-alive", "Location: /x", "Location:", "Set-Cookie: a=b", "Trailer: X",
        "Upgrade: h2c", "Alt-Svc: h2=\":1\"", "Strict-Transport-Security: max-age=1",
        "WWW-Authenticate: Basic", "Last-Modified: 0", "Content-Range: bytes 0-1/2",
        "Retry-After: 99999999999999999999",
        String(repeating: "N", count: 20_000) + ": y",
        "X: " + String(repeating: "v", count: 20_000),
        "X: y" + String(repeating: "\r\n z", count: 500),
    ]

    private static let starts = [
        "HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "HTTP/1.0 200 OK",
        "HTTP/1.1 204 No",
        "HTTP/1.1 304 No", "HTTP/1.1 401 No", "HTTP/1.1 417 No", "HTTP/1.1 500", "HTTP/1.1 101 No",
        "HTTP/2 200", "HTTP/1.1 999 X", "HTTP/1.1 200", "HTTP/1.1  200", "http/1.1 200 OK",
        "ICY 200 OK",
        "HTTP/9.9 200", "HTTP/1.1 20", "", " HTTP/1.1 200 OK",
    ]

    private static let contents = [
        "", "ok", "2\r\nok\r\n0\r\n\r\n", "2\r\nok\r\n0\r\nX: y\r\n\r\n",
        "2\r\nok\r\n0\r\n X: y\r\n\r\n",
        "2\r\nok\r\n0\r\nX: y\r\n z\r\n\r\n", "2;a=\"b\"\r\nok\r\n0\r\n\r\n", "0\r\n\t\r\n\r\n",
        "\0", "ffffffffffffffff\r\n",
    ]

    private mutating func next() -> Data {
        let interims = chance(0.3) ? Int.random(in: 1...4, using: &random) : 0
        var text = ""
        for _ in 0..<interims { text += head("HTTP/1.1 \(chance(0.7) ? 103 : 100) X") }
        text += head(pick(Self.starts)) + pick(Self.contents)
        if chance(0.2) { text = text.replacing("\r\n", with: chance(0.7) ? "\n" : "\r") }
        var bytes = Data(text.utf8)
        if chance(0.3) { for _ in 0...Int.random(in: 0...3, using: &random) { bend(&bytes) } }
        return bytes
    }

    private mutating func head(_ start: String) -> String {
        let fields = (0..<Int.random(in: 0...5, using: &random)).map { _ in pick(Self.fields) }
        return ([start] + fields).map { $0 + "\r\n" }.joined() + "\r\n"
    }

    private mutating func bend(_ bytes: inout Data) {
        // The beginning, above all: the rest may be long.
        let place = Int.random(in: 0...min(bytes.count, 200), using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
        case 1:
            bytes.insert(
                contentsOf: Data(pick(["\r\n ", "\n\t", "\0", ":", "\r\n"]).utf8), at: place)
        case 2: bytes = bytes.prefix(place)
        default: bytes.removeSubrange(place..<min(place + 4, bytes.count))
        }
    }

    private mutating func pick(_ list: [String]) -> String {
        list[Int.random(in: list.indices, using: &random)]
    }

    private mutating func chance(_ part: Double) -> Bool {
        Double.random(in: 0..<1, using: &random) < part
    }
}
