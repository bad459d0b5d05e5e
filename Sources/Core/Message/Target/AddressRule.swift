// SPDX-License-Identifier: Apache-2.0

/// A rule that decides to which addresses a request may connect.
///
/// A transport with ``TransportCapabilities/addressRules`` applies the rule when the transport
/// opens a connection, and before a request uses a connection. The rule therefore also applies if a
/// name resolves to another address after an earlier check (DNS rebinding). A refused call fails
/// with ``ClientError/Code/urlPolicy``, and nothing is sent to the refused address.
///
/// If a name has several addresses, a new connection uses an allowed address. If a request without
/// the rule has opened a connection to a refused address, that connection is refused and not
/// replaced. For this reason, use a separate client for calls with a rule. The rule does not apply
/// to connections through a proxy. A Unix socket has no address and is always refused.
public struct AddressRule: Sendable {
    private let decide: @Sendable (IPAddress) -> Bool
    /// Whether the rule is ``publicAddresses``; two calls with that rule have equal rules.
    public let allowsPublicAlone: Bool

    /// Allows only public addresses (``IPAddress/isPublic``).
    public static let publicAddresses = Self(allowsPublicAlone: true, \.isPublic)

    /// Creates a rule.
    /// - Parameter allows: Returns whether a connection to an address is allowed. The closure runs
    ///   on the thread of the network or of the caller, and must be quick.
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
    /// The addresses to which the request may connect, or nil for all addresses.
    public var addressRule: AddressRule? {
        get { self[AddressRuleOption.self] }
        set { self[AddressRuleOption.self] = newValue }
    }
}
