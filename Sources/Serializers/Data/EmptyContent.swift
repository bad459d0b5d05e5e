// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

/// The error for empty content.
///
/// Empty content is valid only if the response never has any (204, 205, a response to HEAD).
/// Elsewhere it is an error, because it is not text, JSON or any other value.
enum EmptyContent {
    static func error(_ what: String) -> ClientError {
        ClientError(
            .serialization,
            "the response has no content, but \(what) is expected; use data() or empty() if that is valid"
        )
    }
}

extension Call {
    /// Returns the serializer of the client's table with a name, if it has this type.
    func table<Serializer: ResponseSerializer>(
        _ type: Serializer.Type, _ name: String
    ) -> Serializer? { serializers.serializer(type, named: name) }
}
