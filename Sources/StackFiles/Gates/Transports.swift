// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeURLSession

extension Registry {
    /// Adds the transports of this module with their names in stack files.
    public mutating func registerTransports() {
        register(
            transport: "mock",
            description: PartDescription(
                "Answers requests without a network, for tests (`MockTransport`).",
                settings: [
                    "responses": """
                    The responses, in order. The last response is repeated. If the list is empty, \
                    each request is answered with 200.
                    """,
                    "responses.status": "The status.",
                    "responses.headers": "The header fields.",
                    "responses.text": "The content, as text.",
                    "responses.base64": "The content, in Base64, in place of `text`.",
                    "responses.delay": "The delay before the response.",
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

extension Registry {
    mutating func registerURLSession() {
        register(
            transport: "urlsession",
            description: PartDescription(
                "Sends requests over URLSession (`URLSessionTransport`).",
                settings: [
                    "maxConnectionsPerHost":
                        "The maximum number of connections to one host. Further calls wait."
                ],
                example: #"{"use": "urlsession", "maxConnectionsPerHost": 8}"#)
        ) { settings in
            let configuration = URLSessionTransport.Configuration(settings: settings)
            if settings.isDryRun { return DraftURLSession() }
            return URLSessionTransport(configuration: configuration)
        }
    }
}

/// Gives the capabilities of the transport to a check, which must not open a transport.
private struct DraftURLSession: Transport {
    var capabilities: TransportCapabilities { [] }
    var provesClient: Bool { false }
    var canEndProcess: Bool {
        #if canImport(FoundationNetworking)
        true
        #else
        false
        #endif
    }

    func send(_ request: Request, context: Context) async throws -> Response {
        throw ClientError(.unsupported, "a transport that is made for a check sends nothing")
    }

    func shutdown() async {}
}

extension URLSessionTransport.Configuration {
    fileprivate init(settings: Settings) {
        self.init()
        maxConnectionsPerHost = settings.int(
            "maxConnectionsPerHost", default: maxConnectionsPerHost, in: 1...10_000)
        settings.refuse(
            "trust", "connectTimeout", "idleConnectionTimeout", "http2", "proxy", "unixSocket",
            because: "URLSession on Linux does not support this setting; use the curl transport")
    }
}
