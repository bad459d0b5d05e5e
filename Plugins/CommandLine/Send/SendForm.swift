import Foundation
import Turnpike
import TurnpikeCore

extension Body {
    /// A form of fields and files.
    static func form(of fields: [SendOptions.Field]) -> Body { .empty }
}
