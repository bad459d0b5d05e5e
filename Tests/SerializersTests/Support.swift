// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeSerializers

/// A call that is answered with the given content.
func call(
    status: HTTPStatus = 200, type: String? = nil, _ content: Data, method: HTTPMethod = .get,
    table: SerializerTable = .standard
) -> Call {
    let transport = MockTransport { _ in
        .status(status, headers: type.map { ["Content-Type": $0] } ?? [:], body: content)
    }
    return Client(transport: transport, stack: [], serializers: table).request(method, anywhere)
}

func call(
    status: HTTPStatus = 200, type: String? = nil, _ text: String, method: HTTPMethod = .get
) -> Call {
    call(status: status, type: type, Data(text.utf8), method: method)
}

/// A type with a value for responses without content.
struct Empty: EmptyResponse, Decodable, Equatable {
    static var emptyValue: Empty { Empty() }
}
