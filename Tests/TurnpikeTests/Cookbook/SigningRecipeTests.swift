// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeSupport
import TurnpikeTesting

@Suite("Cookbook: signatures")
struct SigningRecipeTests {
    private func hook(_ host: String) throws -> URL {
        try #require(URL(string: "https://\(host)/hooks"))
    }

    @Test("A webhook is signed anew for each attempt, and never goes inside")
    func webhook() async throws {
        let key = Data("k3y".utf8), clock = ManualClock()
        let transport = MockTransport([
            .any(.status(503, headers: ["Retry-After": "7"]), .status(204))
        ])
        let gates = makeWebhookClient(key: key, transport).stack
        let client = Client(transport: transport, stack: gates, timeSource: clock)
        async let done: Void = deliver(["paid": 7], id: "m1", to: hook("8.8.8.8"), client)
        try await clock.waitForTimer(in: .seconds(7))
        clock.advance(by: .seconds(7))
        try await done
        for sent in transport.sent {
            let headers = sent.request.headers
            let time = try #require(headers["webhook-timestamp"].flatMap(TimeInterval.init))
            #expect(
                isGenuine(
                    sent.body, id: "m1", time: headers["webhook-timestamp"] ?? "",
                    signatures: headers["webhook-signature"] ?? "", keys: [key],
                    now: Date(timeIntervalSince1970: time)))
        }
        let times = Set(transport.sent.map { $0.request.headers["webhook-timestamp"] })
        #expect(transport.sentCount == 2 && times.count == 2)
        let error = await #expect(throws: ClientError.self) {
            try await deliver(["paid": 7], id: "m1", to: hook("169.254.169.254"), client)
        }
        #expect(error?.code == .urlPolicy && transport.sentCount == 2)
    }

    // The example of the documentation of Svix, whose scheme Standard Webhooks has taken over.
    @Test("A webhook is genuine with the key, the time and the content that were signed")
    func verification() throws {
        let key = try #require(Data(base64Encoded: "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let now = Date(timeIntervalSince1970: 1_614_265_330)
        let code = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        func check(
            _ text: String = #"{"test": 2432232314}"#, time: String = "1614265330",
            codes: String? = nil, keys: [Data]? = nil, after: TimeInterval = 0
        ) -> Bool {
            isGenuine(
                Data(text.utf8), id: "msg_p5jXN8AQM9LWM0D4loKWxJek", time: time,
                signatures: codes ?? code, keys: keys ?? [key], now: now + after)
        }
        #expect(check())
        #expect(check(codes: "v1,AAAA v2,x " + code, keys: [Data([1]), key], after: 299))
        #expect(!check("{}") && !check(codes: "") && !check(keys: []) && !check(after: 301))
        for time in ["", "nan", "inf", "1614265331"] { #expect(!check(time: time)) }
    }

    // "Authenticating Requests: Using the Authorization Header", Amazon S3 API Reference.
    @Test("Requests to S3 have the signatures of its documentation")
    func s3() async throws {
        let gate = S3Signature(
            keyID: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            region: "us-east-1")
        let transport = MockTransport { _ in .ok() }
        let clock = ManualClock(date: Date(timeIntervalSince1970: 1_369_353_600))
        let client = Client(
            baseURL: "https://examplebucket.s3.amazonaws.com/", transport: transport,
            stack: [gate], timeSource: clock)
        try await client.get("test.txt", headers: ["Range": "bytes=0-9"]).empty()
        try await client.get("", query: ["lifecycle": nil]).empty()
        try await client.get("", query: ["prefix": "J", "max-keys": 2]).empty()
        try await client.put(
            "test%24file.text", body: .data(Data("Welcome to Amazon S3.".utf8)),
            headers: [
                "Date": "Fri, 24 May 2013 00:00:00 GMT",
                "x-amz-storage-class": "REDUCED_REDUNDANCY",
            ]
        ).empty()
        let codes = transport.sent.map {
            $0.request.headers[.authorization]?.split(separator: "=").last.map(String.init)
        }
        #expect(
            codes == [
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
                "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
            ])
    }
}
