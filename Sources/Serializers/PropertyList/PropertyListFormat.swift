import Foundation
import TurnpikeCore

/// The media types under which property lists travel; none is registered.
enum PropertyListFormat {
    static let mediaTypes: [MediaType] = [
        .propertyList, "application/x-apple-plist", "application/xml", "text/xml",
        "application/x-bplist",
    ]
}
