// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The logical host, with or without a port, that a gate's endpoints serve.
struct ServiceName: Hashable, Sendable, CustomStringConvertible {
    /// As it was written, in lower case.
    let description: String
    /// The host in lower case; an IPv6 address without its brackets.
    let host: String
    /// The port; nil for all.
    let port: Int?
    /// What is wrong with the text, which each call fails with.
    let fault: ClientError?

    init(_ text: String) {
        description = text.lowercased()
        // The parser of URLs decides what a host is.
        let url = Request(.get, "http://\(description)/")
        let isAlone = !description.contains { "/?#@".contains($0) }
        if isAlone, url.fault == nil, let origin = url.origin {
            host = origin.host
            port = description.hasSuffix(":\(origin.port)") ? origin.port : nil
            fault = nil
        } else {
            (host, port) = ("", nil)
            fault = ClientError(
                .configuration,
                "found \"\(Grammar.escaped(String(text.prefix(80))))\" as the host of endpoints;"
                    + " expected a host, or a host and a port: users.internal:8080",
                transfer: TransferState(.connecting))
        }
    }

    func matches(_ origin: Origin?) -> Bool {
        guard let origin else { return false }
        return origin.host == host && (port == nil || origin.port == port)
    }

    static func == (left: Self, right: Self) -> Bool { left.description == right.description }

    func hash(into hasher: inout Hasher) { hasher.combine(description) }

    /// The labels of the service in meters, in OpenTelemetry's names.
    var meterLabels: [String: String] {
        var labels = ["server.address": host]
        if let port { labels["server.port"] = String(port) }
        return labels
    }
}
