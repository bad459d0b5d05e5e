// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeSerializers

/// How a body is cut.
enum Cut: CaseIterable {
    case whole, pieces, bytes

    func chunks(_ data: Data) -> [Data] {
        let size =
            switch self {
            case .whole: max(data.count, 1)
            case .pieces: 1000
            case .bytes: 1
            }
        return stride(from: 0, to: data.count, by: size).map {
            data[$0..<min($0 + size, data.count)]
        }
    }
}

extension Simulation {
    /// A client that gets these chunks for each request.
    func client(_ chunks: [Data], type: String, _ gates: any Gate...) -> Client {
        let transport = MockTransport { _ in
            .stream(chunks, status: 200, headers: ["Content-Type": type])
        }
        return Client(
            transport: transport, stack: Stack(gates), serializers: .standard, timeSource: clock)
    }
}
