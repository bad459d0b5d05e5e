// SPDX-License-Identifier: Apache-2.0

import Turnpike
import TurnpikeCurl

/// The transport that a flood goes over, and what it may cost.
enum FloodTransport: String {
    case urlsession
    case curl

    func make() throws -> any Transport {
        switch self {
        case .urlsession: URLSessionTransport()
        case .curl: try CurlTransport()
        }
    }

    /// How much more than at the start may be resident, in MiB.
    var memoryLimit: Double { self == .curl ? 20 : 60 }

    /// Whether what outruns its reader, and streams that are sent, go through files.
    ///
    /// URLSession cannot be slowed down; libcurl can.
    var needsTemporaryFiles: Bool { self == .urlsession }
}
