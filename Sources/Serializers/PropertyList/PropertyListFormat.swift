// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

/// The media types in use for property lists; none is registered.
enum PropertyListFormat {
    static let mediaTypes: [MediaType] = [
        .propertyList, "application/x-apple-plist", "application/xml", "text/xml",
        "application/x-bplist",
    ]
}
