import Foundation
import Testing
import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeTesting

/// What Alamofire's users know of validation, and what must hold here too.
struct ValidationVector: Sendable, CustomTestStringConvertible {
    let id: String
    let status: HTTPStatus
    let contentType: String?
    let accept: String?
    let gate: Validate
    let content: String
    let refused: HTTPStatus?
    let isAccepted: Bool

    init(
        _ id: String, status: HTTPStatus = 200, contentType: String? = nil, accept: String? = nil,
        _ gate: Validate = Validate(), content: String = "content", isAccepted: Bool,
        refused: HTTPStatus? = nil
    ) {
        self.id = id
        self.status = status
        self.contentType = contentType
        self.accept = accept
        self.gate = gate
        self.content = content
        self.isAccepted = isAccepted
        self.refused = refused
    }

    var testDescription: String { id }
}

@Suite("Vectors of validation")
struct ValidationVectorTests {
    @Test(
        "Statuses and content types",
        arguments: [
            ValidationVector(
                "V185", Validate(contentType: .ranges([MediaType("*", "*")])), isAccepted: true),
            ValidationVector("V187", contentType: "application/xml", isAccepted: true),
            ValidationVector("V192", status: 200, isAccepted: true),
            ValidationVector("V193", status: 299, isAccepted: true),
            ValidationVector("V194", status: 300, isAccepted: false, refused: 300),
            ValidationVector(
                "V197", status: 201, Validate(status: []), isAccepted: false, refused: 201),
            ValidationVector(
                "V435", status: 205, Validate(contentType: .ranges(["text/html"])), content: "",
                isAccepted: true),
        ])
    func vectors(vector: ValidationVector) async throws {
        let headers = vector.contentType.map { ["Content-Type": $0] as HTTPHeaders } ?? [:]
        let transport = MockTransport { _ in
            .status(vector.status, headers: headers, body: Data(vector.content.utf8))
        }
        let client = Client(transport, [vector.gate])
        var call = client.get(anywhere)
        if let accept = vector.accept { call = call.header(.accept, accept) }
        do {
            _ = try await call.serialize(with: Text())
            #expect(vector.isAccepted)
        } catch let error as ClientError {
            #expect(!vector.isAccepted)
            #expect(error.code == .validation)
            #expect(error.response?.status == vector.refused)
        }
    }
}
