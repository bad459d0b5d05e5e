/// Where the parameters of a request go.
public enum ParameterDestination: Sendable, Hashable {
    /// Into the query of GET, HEAD and DELETE, into the body of any other method.
    case byMethod
    /// Into the query, behind what it holds.
    case query
    /// Into the body.
    case body
}
