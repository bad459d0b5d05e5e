// SPDX-License-Identifier: Apache-2.0

import Turnpike
import TurnpikeCore
import TurnpikeCurl

/// The transport of `turnpike send` if no stack file names one.
struct SendTransport: Sendable {
    /// The transports to choose from, by their names in stack files.
    enum Name: String, CaseIterable, Sendable {
        case curl, urlsession
    }

    let transport: any Transport
    /// The name, and why it is not that of libcurl if nobody has chosen it.
    let description: String

    /// Creates a transport.
    /// - Parameters:
    ///   - name: The name; nil for curl where libcurl can be loaded, otherwise urlsession.
    ///   - curl: Creates a transport over libcurl.
    /// - Throws: The error of a transport that was chosen.
    init(_ name: Name?, curl: () throws -> any Transport = { try CurlTransport() }) throws {
        do {
            if name != .urlsession {
                transport = try curl()
                description = Name.curl.rawValue
                return
            }
        } catch  where name == nil {
            let reason = (error as? ClientError)?.shownMessage ?? "\(error)"
            transport = URLSessionTransport()
            description = "\(Name.urlsession.rawValue), because \(reason)"
            return
        }
        transport = URLSessionTransport()
        description = Name.urlsession.rawValue
    }
}
