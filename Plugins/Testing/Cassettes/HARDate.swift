// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Dates in HAR files (ISO 8601), as other tools write them.
enum HARDate {
    static func parse(_ text: String) -> Date? {
        (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
            ?? (try? Date(text, strategy: .iso8601))
    }
}
