// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

extension Registry {
    /// Adds the transports of this module under their names in stack files.
    public mutating func registerTransports() {
        register(
            transport: "mock",
            description: PartDescription(
                "Answers requests by itself, for tests (`MockTransport`).",
                settings: [
                    "responses": """
                    The responses, in order; the last one is repeated. Without any, each request \
                    is answered with 200.
                    """,
                    "responses.status": "The status.",
                    "responses.headers": "The header fields.",
                    "responses.text": "The content, as text.",
                    "responses.base64": "The content, in Base64, in place of `text`.",
                    "responses.delay": "How long the response takes.",
                ],
                example: #"""
                    {"use": "mock", "responses": [
                      {"status": 503, "delay": 0.1},
                      {"headers": [["Content-Type", "application/json"]], "text": "[]"}
                    ]}
                    """#)
        ) { MockTransport(settings: $0) }
    }
}

extension MockTransport {
    convenience init(settings: Settings) {
        let responses = (settings.list("responses") ?? []).enumerated().compactMap { index, value in
            let place = "responses[\(index)]"
            guard let object = value.object else {
                settings.issue(at: place, "expected an object")
                return MockResponse?.none
            }
            let inner = settings.nested(object, at: place)
            defer { inner.finish() }
            return MockResponse(settings: inner)
        }
        self.init([MockStub(responses.isEmpty ? [.status(200)] : responses) { _ in true }])
    }
}

extension MockResponse {
    init(settings: Settings) {
        let status = HTTPStatus(settings.int("status", default: 200, in: 100...999))
        let headers = settings.headers("headers")
        var body = Data((settings.string("text") ?? "").utf8)
        if let base64 = settings.string("base64") {
            if let data = Data(base64Encoded: base64) {
                body = data
            } else {
                settings.issue(at: "base64", "the string is not base64")
            }
        }
        self = .status(status, headers: headers, body: body)
            .delayed(by: settings.seconds("delay", default: .zero, orZero: true))
    }
}
