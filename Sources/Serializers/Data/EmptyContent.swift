import Foundation
import TurnpikeCore

/// The rule for content that is empty: right where a response never has any (204, 205, an answer to
/// HEAD), an error everywhere else, since nothing is no text, no JSON and no value.
enum EmptyContent {
    static func error(_ what: String) -> ClientError {
        ClientError(
            .serialization,
            "the response has no content, and \(what) is wanted; use data() or empty() where that is right"
        )
    }
}

extension Call {
    /// The serializer that the client's table has under a name, if it is of that type.
    func table<Serializer: ResponseSerializer>(
        _ type: Serializer.Type, _ name: String
    ) -> Serializer? { serializers.serializer(type, named: name) }
}
