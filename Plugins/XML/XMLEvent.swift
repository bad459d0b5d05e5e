/// What an XML parser comes upon, in order.
public enum XMLEvent: Sendable, Hashable {
    /// An element begins.
    case begin(name: String, attributes: [String: String])
    /// Text, with references and CDATA resolved; neighbouring pieces are one event.
    case text(String)
    /// An element ends.
    case end(name: String)
}
