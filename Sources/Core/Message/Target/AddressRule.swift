// SPDX-License-Identifier: Apache-2.0

/// Decides which addresses a connection for a request may go to.
///
/// A transport with ``TransportCapabilities/addressRules`` asks it when it opens a connection and
/// before a request uses one, so that a name that resolves to another address between a check and
/// the connection is refused too (DNS rebinding). Such a refusal is
/// ``ClientError/Code/urlPolicy``, and nothing was sent to that address. If a name has several
/// addresses, a new connection skips refused addresses and goes to an allowed one. A kept
/// connection to a refused address, which a request without the rule may have opened, is refused
/// and not replaced; give calls with a rule a client of their own. The rule does not apply to the
/// connections of a proxy. A Unix socket that the request names is refused, because it has no
/// address.
public struct AddressRule: Sendable {
    private let decide: @Sendable (IPAddress) -> Bool
    /// Whether the rule is ``publicAddresses``, so that two calls with it have the same rule.
    public let allowsPublicAlone: Bool

    /// Allows only public addresses (``IPAddress/isPublic``).
    public static let publicAddresses = Self(allowsPublicAlone: true, \.isPublic)

    /// Creates a rule.
    /// - Parameter allows: Returns whether a connection to an address is allowed. It is called on
    ///   the thread of the network, or on that of the caller, so it must be quick.
    public init(allows: @escaping @Sendable (IPAddress) -> Bool) {
        self.init(allowsPublicAlone: false, allows)
    }

    private init(allowsPublicAlone: Bool, _ decide: @escaping @Sendable (IPAddress) -> Bool) {
        self.allowsPublicAlone = allowsPublicAlone
        self.decide = decide
    }

    /// Returns a rule that allows what both rules allow.
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
