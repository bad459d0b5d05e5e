// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeURLSession

extension Registry {
    /// Adds the transport `urlsession` to the names of stack files.
    mutating func registerURLSession() {
        register(
            transport: "urlsession",
            description: PartDescription(
                "Sends requests over URLSession (`URLSessionTransport`).",
                settings: [
                    "maxConnectionsPerHost":
                        "The connections to one host at a time; more calls wait."
                ],
                example: #"{"use": "urlsession", "maxConnectionsPerHost": 8}"#)
        ) { settings in
            let configuration = URLSessionTransport.Configuration(settings: settings)
            if settings.isDryRun { return DraftURLSession() }
            return URLSessionTransport(configuration: configuration)
        }
    }
}

/// What is true of the transport, for a check that opens none.
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
        throw ClientError(.unsupported, "a transport of a check sends nothing")
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
            because: "URLSession on Linux does not support this; use the curl transport")
    }
}
