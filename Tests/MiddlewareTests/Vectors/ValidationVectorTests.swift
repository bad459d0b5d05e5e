// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// What a gate makes of a response.
struct ValidationVector: Sendable, CustomTestStringConvertible {
    let rule: String
    let status: HTTPStatus
    let contentType: String?
    let gate: Validate
    let content: String
    let isAccepted: Bool

    init(
        _ rule: String, status: HTTPStatus = 200, contentType: String? = nil,
        _ gate: Validate = Validate(), content: String = "content", isAccepted: Bool
    ) {
        self.rule = rule
        self.status = status
        self.contentType = contentType
        self.gate = gate
        self.content = content
        self.isAccepted = isAccepted
    }

    var testDescription: String { rule }
}

@Suite("Validation decisions")
struct ValidationVectorTests {
    @Test(
        "Statuses and content types",
        arguments: [
            ValidationVector(
                "no type is within the range of all types",
                Validate(contentType: .ranges([MediaType("*", "*")])), isAccepted: true),
            ValidationVector(
                "any type is accepted that nobody bounds", contentType: "application/xml",
                isAccepted: true),
            ValidationVector("200 is accepted", status: 200, isAccepted: true),
            ValidationVector("299 is accepted", status: 299, isAccepted: true),
            ValidationVector("300 is refused", status: 300, isAccepted: false),
            ValidationVector(
                "an empty set refuses every status", status: 201, Validate(status: []),
                isAccepted: false),
            ValidationVector(
                "no content needs no type", status: 205,
                Validate(contentType: .ranges(["text/html"])), content: "", isAccepted: true),
        ])
    func vectors(vector: ValidationVector) async throws {
        let headers = vector.contentType.map { ["Content-Type": $0] as HTTPHeaders } ?? [:]
        let transport = MockTransport { _ in
            .status(vector.status, headers: headers, body: Data(vector.content.utf8))
        }
        let call = Client(transport, [vector.gate]).get(anywhere)
        if vector.isAccepted {
            #expect(try await call.serialize(with: Text()) == vector.content)
            return
        }
        let error = await #expect(throws: ClientError.self) {
            try await call.serialize(with: Text())
        }
        #expect(error?.code == .validation && error?.response?.status == vector.status)
    }
}
