/// How this machine is connected: its interfaces that are up and have an address.
public struct NetworkPath: Sendable, Hashable {
    /// The names of the interfaces, sorted, without loopback.
    public var interfaces: [String]

    /// Creates a path.
    public init(interfaces: [String]) { self.interfaces = interfaces.sorted() }

    /// Whether there is a way to other machines at all.
    ///
    /// It says nothing of any one of them.
    public var isReachable: Bool { !interfaces.isEmpty }
}
