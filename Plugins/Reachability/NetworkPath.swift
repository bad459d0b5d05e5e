// SPDX-License-Identifier: Apache-2.0

/// The network interfaces of this machine that are up and have an address.
public struct NetworkPath: Sendable, Hashable {
    /// The names of the interfaces, sorted, without loopback.
    public var interfaces: [String]

    /// Creates a path.
    public init(interfaces: [String]) { self.interfaces = interfaces.sorted() }

    /// Whether the machine has a route to other machines.
    ///
    /// It does not tell whether a particular machine can be reached.
    public var isReachable: Bool { !interfaces.isEmpty }
}
