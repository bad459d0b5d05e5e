// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

// A base URL. Requests whose URL begins with this URL can be sent to another base URL.
struct ServiceURL: Sendable, CustomStringConvertible {
    /// The origin and the path, which ends with a slash.
    let description: String
    let origin: Origin?
    private let path: String
    private let fault: String?

    init(_ text: String) {
        let request = Request(.get, text)
        let form = request.targetURI.originForm
        origin = request.origin
        path = form.hasSuffix("/") ? form : form + "/"
        description = (origin?.description ?? "") + path
        let isBase = !form.contains("?") && request.targetURI.userInformation == nil
        fault =
            request.fault == nil && isBase
            ? nil : "found \"\(Redaction.standard.url(text))\"; expected a base URL, without query"
    }

    /// Returns the reason why requests must not be sent below another URL, or nil.
    func fault(sendingTo other: ServiceURL) -> ClientError? {
        if let fault = fault ?? other.fault { return Self.fault(fault) }
        let losesTLS = origin?.scheme == "https" && other.origin?.scheme != "https"
        return losesTLS ? Self.fault("found \(other); expected https, as in \(self)") : nil
    }

    static func fault(_ message: String) -> ClientError {
        ClientError(.configuration, message, transfer: TransferState(.connecting))
    }

    /// Returns the rest of a request's URL after this URL, or nil for other URLs.
    func rest(of request: Request) -> Substring? {
        guard let origin, request.origin == origin, !request.asksServer else { return nil }
        let form = request.targetURI.originForm
        guard form.utf8.starts(with: path.utf8) else { return nil }
        return form[form.utf8.index(form.startIndex, offsetBy: path.utf8.count)...]
    }

    /// Moves a request below this URL, and removes data that belongs only to the old origin.
    func move(_ request: inout Request, to rest: Substring) {
        guard let uri = TargetURI(reference: description + rest) else { return }
        let isOther = request.origin != origin
        request.targetURI = uri
        if isOther {
            request.headers.remove(.host)
            request.options.connectTarget = nil
        }
    }
}
