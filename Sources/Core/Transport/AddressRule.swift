// SPDX-License-Identifier: Apache-2.0

/// Decides which addresses a connection for a request may go to.
///
/// A transport with ``TransportCapabilities/addressRules`` asks it when it opens a connection and
/// before a request uses one, so that a name that resolves to another address between a check and
/// the connection is refused too (DNS rebinding). Such a refusal is
/// ``ClientError/Code/urlPolicy``, and nothing was sent. What a proxy connects to is not asked
/// about.
public struct AddressRule: Sendable {
    private let decide: @Sendable (IPAddress) -> Bool

    /// Creates a rule.
    /// - Parameter allows: Returns whether a connection to an address is allowed. It is called on
    ///   the thread of the network, so it must be quick.
    public init(allows: @escaping @Sendable (IPAddress) -> Bool) { decide = allows }

    /// Returns whether a connection to an address is allowed.
    public func allows(_ address: IPAddress) -> Bool { decide(address) }
}

private enum AddressRuleOption: RequestOptionKey {
    typealias Value = AddressRule
}

extension RequestOptions {
    /// The addresses that the connection for the request may go to; nil for any.
    public var addressRule: AddressRule? {
        get { self[AddressRuleOption.self] }
        set { self[AddressRuleOption.self] = newValue }
    }
}
