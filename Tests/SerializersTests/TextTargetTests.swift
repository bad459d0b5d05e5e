// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeSerializers

@Suite("A target in a variable, with content or parameters")
struct SerializedTextTargetTests {
    @Test("Text in a variable is a target as a literal is, and its fault is the call's error")
    func variable() async throws {
        let transport = MockTransport { _ in .ok() }
        let client = Client(
            transport: transport, stack: [], serializers: .standard, timeSource: ManualClock())
        func calls(_ target: String) -> [Call] {
            let value = ["a": 1]
            var form = MultipartFormData()
            form.append("1", name: "a")
            return [
                client.post(target, json: value), client.put(target, json: value),
                client.patch(target, json: value), client.request(.post, target, json: value),
                client.request(.post, target, propertyList: value),
                client.request(.get, target, parameters: value),
                client.get(target, parameters: value), client.post(target, form: value),
                client.post(target, multipart: form),
            ]
        }
        for call in calls("http://a.example/x") { _ = try await call.response() }
        let sent = transport.sent.map(\.request.targetURI.absoluteForm)
        let (plain, full) = ("http://a.example/x", "http://a.example/x?a=1")
        #expect(sent == [plain, plain, plain, plain, plain, full, full, plain, plain])
        for call in calls("http://a.example/%zz") {
            let error = await #expect(throws: ClientError.self) { try await call.response() }
            #expect(error?.message.contains("hexadecimal") == true)
        }
        #expect(transport.sentCount == sent.count)
    }
}
