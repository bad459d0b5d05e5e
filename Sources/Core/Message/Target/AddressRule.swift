// SPDX-License-Identifier: Apache-2.0

/// Decides which addresses a connection for a request may go to.
///
/// A transport with ``TransportCapabilities/addressRules`` asks the rule when it opens a
/// connection, and before a request uses a connection. A name may resolve to another address
/// between a check and the connection (DNS rebinding); such a connection is refused too. The error
/// of a refusal is ``ClientError/Code/urlPolicy``, and nothing was sent to that address.
///
/// If a name has several addresses, a new connection skips refused addresses and goes to an allowed
/// address. A request without the rule may have opened a connection to a refused address. If that
/// connection is still open, it is refused and not replaced. Therefore use a separate client for
/// calls with a rule. The rule does not apply to the connections of a proxy. If the request names a
/// Unix socket, the connection is refused, because a Unix socket has no address.
public struct AddressRule: Sendable {
    private let decide: @Sendable (IPAddress) -> Bool
    /// Whether the rule is ``publicAddresses``, so that two calls with it have the same rule.
    public let allowsPublicAlone: Bool

    /// Allows only public addresses (``IPAddress/isPublic``).
    public static let publicAddresses = Self(allowsPublicAlone: true, \.isPublic)

    /// Creates a rule.
    /// - Parameter allows: Returns whether a connection to an address is allowed. The closure is
    ///   called on the network's thread or the caller's thread, so it must be quick.
    public init(allows: @escaping @Sendable (IPAddress) -> Bool) {
        self.init(allowsPublicAlone: false, allows)
    }

    private init(allowsPublicAlone: Bool, _ decide: @escaping @Sendable (IPAddress) -> Bool) {
        self.allowsPublicAlone = allowsPublicAlone
        self.decide = decide
    }

    /// Returns a rule that allows the addresses that both rules allow.
    public func and(_ other: AddressRule) -> AddressRule {
        if allowsPublicAlone, other.allowsPublicAlone { return self }
        return AddressRule { allows($0) && other.allows($0) }
    }

    /// Returns whether a connection to an address is allowed.
    public func allows(_ address: IPAddress) -> Bool { decide(address) }
}

private enum AddressRuleOption: OptionKey {
    typealias Value = AddressRule
}

extension RequestOptions {
    /// The addresses that the connection for the request may go to; nil for any.
    public var addressRule: AddressRule? {
        get { self[AddressRuleOption.self] }
        set { self[AddressRuleOption.self] = newValue }
    }
}
