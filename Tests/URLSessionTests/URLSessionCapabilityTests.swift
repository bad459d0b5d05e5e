// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeCore
import TurnpikeTesting
import TurnpikeURLSession

@Suite("What URLSession can do")
struct URLSessionCapabilityTests {
    private let transport = URLSessionTransport()

    @Test("It declares no trailers, and refuses those of a request by their name")
    func trailers() async {
        #expect(!transport.capabilities.contains(.trailers))
        let client = Client(transport: transport, stack: [], serializers: SerializerTable())
        let body = RequestBody.text("abc").followed(by: ["X-Count": "3"])
        let error = await #expect(throws: ClientError.self) {
            try await client.post("http://a.example/", body: body).response()
        }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains("request trailers") == true)
    }

    @Test("On Linux a server can end the process, and a transport around it says so too")
    func process() {
        let around = FaultTransport(transport, seed: 1, [])
        #if canImport(FoundationNetworking)
        #expect(transport.canEndProcess && around.canEndProcess)
        #else
        #expect(!transport.canEndProcess && !around.canEndProcess)
        #endif
    }
}
