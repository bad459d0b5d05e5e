// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Uses TLS for hosts that require TLS (HTTP Strict Transport Security, RFC 6797).
///
/// The gate changes an http URL of a known host to https before anything is sent. The gate changes
/// port 80 to 443, and does not change other ports. The gate learns hosts from the field
/// `Strict-Transport-Security` of responses over TLS.
///
/// Place this gate inside ``Redirect``, because each hop may need the upgrade. Place this gate
/// outside ``Cookies``, credentials and a ``URLPolicy`` that allows only https. If a redirect leads
/// from https to http at a known host, the gate changes the target to https.
public struct HSTS: Interceptor {
    private let store: HSTSStore

    /// Creates a gate that upgrades requests.
    /// - Parameter store: The store of the hosts; by default a new store in memory.
    public init(_ store: HSTSStore = HSTSStore()) { self.store = store }

    /// States that the gate changes http to https, and must be outside of cookies.
    public func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "changes http to https if the host requires TLS", .upgradesScheme,
            order: [
                GateOrder(
                    .outside, .cookies,
                    because: "The cookie jar would get an http request, and send no Secure cookie.")
            ])
    }

    /// Changes the request to https if necessary, and reads the response's policy.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        if let fault = store.takeFault() {
            context.report("the file of HSTS hosts cannot be written: \(fault)", by: gateName)
        }
        let upgraded = Self.upgrade(request, store, at: context.timeSource.date)
        if upgraded.origin?.scheme != request.origin?.scheme {
            context.report("http was upgraded to https", by: gateName)
        }
        do {
            let response = try await next(upgraded)
            learn(from: response.head, context)
            return response
        } catch {
            let outcome = Outcome(request: upgraded, result: .failure(error))
            if let head = outcome.head { learn(from: head, context) }
            throw error
        }
    }

    /// Returns when the file contains all hosts.
    public func shutdown() async { await store.flush() }

    private func learn(from head: ResponseHead, _ context: Context) {
        // A cached response is ignored, because the host may have withdrawn its policy.
        if !head.isStored, let origin = Origin(head.url), origin.scheme == "https",
            let line = head.headers.first("Strict-Transport-Security")
        {
            store.store(line, from: origin.host, at: context.timeSource.date)
        }
        if head.status.code / 100 == 3, head.headers.contains(.location) {
            let timeSource = context.timeSource
            context[RedirectHints.self].upgrade = { [store] in
                Self.upgrade($0, store, at: timeSource.date)
            }
        }
    }

    private static func upgrade(_ request: Request, _ store: HSTSStore, at date: Date) -> Request {
        guard let origin = request.origin, origin.scheme == "http",
            store.requiresTLS(origin.host, at: date)
        else { return request }
        var upgraded = request
        upgraded.targetURI = request.targetURI.overTLS
        return upgraded
    }
}

extension HSTS: PromptlyCancellable {}

extension Gate where Self == HSTS {
    /// Uses TLS for hosts that require TLS; see ``HSTS``.
    public static func hsts(_ store: HSTSStore = HSTSStore()) -> Self { HSTS(store) }
}
