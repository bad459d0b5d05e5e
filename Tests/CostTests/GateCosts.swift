// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeAuthentication
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSerializers

/// What gates make of the head of a response.
@Suite("The cost of heads")
struct GateCosts {
    /// A response whose head holds a text at many places, through gates that read heads.
    private static func heads(_ name: String, _ fields: @escaping @Sendable (Int) -> HTTPHeaders)
        -> Hostile
    {
        Hostile(name, size: 5_000, make: fields) { fields, simulation in
            let transport = MockTransport([
                .any(.status(200, headers: fields, body: Data("x".utf8))),
                .any(.status(304, headers: fields)),
                .any(.status(503, headers: fields)),
            ])
            let client = Client(
                transport: transport,
                stack: [
                    .log(to: MemoryLogSink(), level: .debug), .redirect(), .cookies(), .hsts(),
                    Cache(), .retry(attempts: 1), .digest(user: "u", password: "p"),
                    .traceContext(), .limits(.init(headers: .max, headerCount: .max)),
                ],
                serializers: .standard, timeSource: simulation.clock)
            for _ in 0..<3 {
                _ = try? await client.get(
                    "http://a.example/", headers: ["If-None-Match": fields["ETag"] ?? "x"]
                ).data()
            }
        }
    }

    private static let fields = [
        "Cache-Control", "Vary", "Connection", "ETag", "Expires", "Date", "Age", "Pragma",
        "Warning", "Link", "Location", "Content-Location", "Refresh", "Set-Cookie",
        "WWW-Authenticate", "Content-Range", "Content-Encoding", "Content-Type",
        "Strict-Transport-Security", "Retry-After", "Trailer", "Accept-Ranges",
    ]

    private static let units = [
        ",", "a,", "\"a\",", "no-cache=\"a,b\",", "max-age=1,", "a;b=c;", "x", "=", " ",
    ]

    private static var values: [Hostile] {
        fields.flatMap { field in
            units.map { unit in
                heads("\(field) of “\(unit)”") { size in
                    var headers: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"a\""]
                    headers[HTTPHeaders.Name(field)] = Hostile.text(unit, size)
                    return headers
                }
            }
        }
    }

    private static let lines: [Hostile] = [
        heads("fields that a connection names") { size in
            many(size) { $0["Connection"] = $1 }
        },
        heads("fields that vary") { size in many(size) { $0["Vary"] = $1 } },
        heads("fields of a 304") { size in many(size) { $0["Cache-Control"] = "max-age=0, \($1)" }
        },
        heads("lines of Cache-Control") { size in
            HTTPHeaders((0..<size / 20).map { _ in ("Cache-Control", "max-age=60") })
        },
    ]

    // Many fields, whose names may stand in another one.
    private static func many(
        _ size: Int, _ change: (inout HTTPHeaders, _ names: String) -> Void
    ) -> HTTPHeaders {
        let names = (0..<size / 20).map { "A\($0)" }
        var headers = HTTPHeaders(names.map { ($0, "b") })
        headers["Cache-Control"] = "max-age=60"
        headers["ETag"] = "\"a\""
        change(&headers, names.joined(separator: ","))
        return headers
    }

    @Test("grows with the size of a field, and not with the square", arguments: values)
    func value(row: Hostile) async throws { try await row.check() }

    @Test("grows with the number of fields, and not with the square", arguments: lines)
    func line(row: Hostile) async throws { try await row.check() }
}
