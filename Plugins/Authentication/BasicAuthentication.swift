// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeMiddleware
import TurnpikeSupport

/// Sends a user name and a password with each request (RFC 7617).
///
/// The gate sends the credential, in UTF-8, without a challenge, and only to its
/// ``/TurnpikeMiddleware/CredentialOrigins``. Over http, each host on the path can read the
/// password. If a request already has the field `Authorization`, the gate does not change the
/// field. Inside ``/TurnpikeMiddleware/Redirect``, the gate sees the request of each hop.
public struct BasicAuthentication: SynchronousRequestAdapter {
    private let field: Secret
    private let fault: String?
    private let scope: CredentialScope

    /// Creates a gate that sends a user name and a password.
    /// - Parameters:
    ///   - user: The user name. If the user name contains a colon or a control character, calls
    ///     fail with ``/TurnpikeCore/ClientError/Code/configuration``.
    ///   - password: The password. If the password contains a control character, calls fail with
    ///     the same code.
    ///   - origins: The origins that receive the credential.
    public init(user: String, password: String, origins: CredentialOrigins = .own) {
        let user = user.composed
        let password = password.composed
        field = Secret("Basic " + Data("\(user):\(password)".utf8).base64EncodedString())
        fault = Self.fault(user: user, password: password)
        scope = CredentialScope(origins)
    }

    /// Reports that the gate sends a credential, and the origins that receive the credential.
    public func facts(for request: Request?) -> GateFacts? {
        var facts = GateFacts(
            "sends a user name and a password",
            .setsFields([.authorization], .secret(isBound: true)),
            passedOver: scope.obstacle(to: request))
        facts.origins = scope.listed
        return facts
    }

    /// Adds the credential.
    public func adapt(_ request: inout Request, context: Context) throws {
        if let fault { throw ClientError(.configuration, "the gate \(gateName): \(fault)") }
        if try scope.admits(request, in: context) { request.headers[.authorization] = field.value }
    }

    /// Returns the reason why a user name and a password cannot be sent, or nil (RFC 7617 §2).
    private static func fault(user: String, password: String) -> String? {
        if user.utf8.contains(UInt8(ascii: ":")) { return "the user's name has a colon" }
        if hasControl(user) { return "the user's name has a control character" }
        return hasControl(password) ? "the password has a control character" : nil
    }

    private static func hasControl(_ text: String) -> Bool {
        text.utf8.contains { $0 < 0x20 || $0 == 0x7F }
    }
}

extension Gate where Self == BasicAuthentication {
    /// Sends a user name and a password; see ``BasicAuthentication/init(user:password:origins:)``.
    public static func basic(
        user: String, password: String, origins: CredentialOrigins = .own
    ) -> Self {
        BasicAuthentication(user: user, password: password, origins: origins)
    }
}
