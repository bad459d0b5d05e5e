/// The value of a response without content.
public struct Empty: EmptyResponse, Codable, Sendable, Hashable {
    /// Creates the value.
    public init() {}

    /// The value.
    public static var emptyValue: Empty { Empty() }
}
