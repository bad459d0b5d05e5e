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
            if settings.isDryRun { return MockTransport(capabilities: [], []) }
            return URLSessionTransport(configuration: configuration)
        }
    }
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
