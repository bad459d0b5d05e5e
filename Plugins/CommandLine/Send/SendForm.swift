import Foundation
import Turnpike
import TurnpikeCore

extension Body {
    /// A form of text fields, URL-encoded.
    static func form(of fields: [SendOptions.Field]) -> Body {
        .catching {
            let items = try fields.map { field in
                guard case .text(let value) = field.value else {
                    throw ClientError(.unsupported, "-F cannot send files yet; use -d @file")
                }
                return PercentEncoding.unreserved.encode(field.name) + "="
                    + PercentEncoding.unreserved.encode(value)
            }
            return .data(Data(items.joined(separator: "&").utf8), type: .form)
        }
    }
}
