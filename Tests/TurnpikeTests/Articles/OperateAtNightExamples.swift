// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeInspection
import TurnpikeTesting

@Suite("Operate at night")
struct OperateAtNightExamples {
    @Test("The state of a service's clients comes from its socket, with that of a user's gate")
    func socket() throws {
        func client(_ name: String, blocked: Int) -> Client {
            Client(
                baseURL: "https://\(name).example/", transport: MockTransport([]),
                stack: [.deadline(.seconds(5)), Tenants(blocked: blocked)])
        }
        let (users, orders) = (client("users", blocked: 0), client("orders", blocked: 2))
        let path = FileManager.default.temporaryDirectory
            .appending(path: "turnpike-\(UUID().uuidString.prefix(8))").path(percentEncoded: false)
        let socket = try StatusSocket(at: path, of: users, orders)
        defer { socket.close() }
        let states = try [ClientStatus](socket: path)
        #expect(states.map(\.troubles) == [[], ["Tenants: tenants: 2 blocked"]])
        #expect(states[0].parts[0].summary == "for https://users.example/")
    }
}

private struct Tenants: RequestAdapter {
    let blocked: Int
    func adapt(_ request: inout Request, context: Context) {}
}

extension Tenants {
    func liveFigures(at now: MonotonicInstant) -> [LiveFigure] {
        [LiveFigure("tenants", "\(blocked) blocked", isTrouble: blocked > 0)]
    }
}
