// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCurl
import TurnpikeTesting

/// One client over libcurl that gets responses whose heads are out of shape, and sound ones between.
///
/// The calls follow one another, so each gets the handle of the one before where handles serve again.
struct FuzzHeadRun {
    let count: Int
    let seed: UInt64

    func run() async throws -> JSONValue {
        let begin = ContinuousClock.now
        let server = try TestServer(keepsRecord: false)
        server.route("/sound", .ok(text: "sound"))
        server.route(
            "/bent",
            .handler { [seed] request in
                let number = request.query.flatMap { Int($0) } ?? 0
                return .raw(FuzzHeads.response(seed: seed, number: number))
            })
        let client = Client(
            baseURL: server.target, transport: try CurlTransport(), stack: [.deadline(.seconds(20))]
        )
        var (responses, codes) = (0, [String: Int]())
        for number in 0..<count {
            do {
                _ = try await client.get("bent?\(number)").data()
                responses += 1
            } catch let error as ClientError where error.code != .deadlineExceeded {
                codes[error.code.rawValue, default: 0] += 1
            } catch {
                throw FuzzFailure("head \(number): \(error)")
            }
            let text = try await client.get("sound").string()
            guard text == "sound" else { throw FuzzFailure("behind head \(number) came \(text)") }
        }
        let errors = codes.sorted { $0.key < $1.key }.map {
            ($0.key, JSONValue.number(JSONNumber($0.value)))
        }
        let seconds = ((ContinuousClock.now - begin) / .milliseconds(100)).rounded() / 10
        return [
            "program": "fuzz", "seed": .number(JSONNumber(Int(seed))),
            "heads": .number(JSONNumber(count)), "responses": .number(JSONNumber(responses)),
            "errors": .object(JSONObject(errors)),
            "seconds": JSONNumber(seconds).map(JSONValue.number) ?? .null,
        ]
    }
}
