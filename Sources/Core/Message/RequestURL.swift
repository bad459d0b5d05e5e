import Foundation

/// A URL as a request holds it, and what its gates and its transport ask it for again and again,
/// read once.
struct RequestURL: Sendable {
    /// The URL without dot segments in its path; a stand-in where there is none.
    let url: URL
    /// What keeps it from being sent, or nil.
    let fault: String?
    // nil for what `URL` itself has to be asked.
    private let plainOrigin: Origin?

    init(_ url: URL) {
        self.url = url.withoutDotSegments
        plainOrigin = PlainAuthority(url).map { Origin($0) }
        fault = plainOrigin == nil ? Self.fault(of: url) : nil
    }

    /// A URL that could not be made.
    init(fault: String) {
        url = Self.standIn
        plainOrigin = nil
        self.fault = fault
    }

    private static let standIn = URL(filePath: "/")

    var origin: Origin? { plainOrigin ?? Origin(url) }

    /// Whether there may be user information.
    var mayHoldUser: Bool { plainOrigin == nil }

    private static func fault(of url: URL) -> String? {
        guard let scheme = url.scheme else {
            return "the URL is relative and the client has no base URL; write https:// and the host"
        }
        guard Origin.defaultPort(scheme.lowercased()) != nil else {
            return "the URL's scheme is neither http nor https"
        }
        guard url.host(percentEncoded: true)?.isEmpty == false else {
            return "the URL has no host"
        }
        return AuthorityText(of: url).fault
    }
}
