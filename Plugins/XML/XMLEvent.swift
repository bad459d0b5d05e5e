// SPDX-License-Identifier: Apache-2.0

/// An event of an XML parser.
public enum XMLEvent: Sendable, Hashable {
    /// An element starts.
    case begin(name: String, attributes: [String: String])
    /// Text with references and CDATA resolved; adjacent pieces form one event.
    case text(String)
    /// An element ends.
    case end(name: String)
}
