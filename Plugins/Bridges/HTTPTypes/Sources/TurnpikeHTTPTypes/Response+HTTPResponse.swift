// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import TurnpikeEssentials

extension HTTPResponse {
    /// Creates the head of a response, with the standard phrase for its status.
    /// - Parameter head: The head.
    /// - Throws: `ClientError.Code.protocol` for a status of more than three digits, and for fields
    ///   that `HTTPFields` cannot hold.
    public init(_ head: ResponseHead) throws {
        let code = head.status.code
        guard (0...999).contains(code) else {
            throw ClientError(
                .protocol, "found the status \(code); expected three digits (RFC 9110 §15)")
        }
        self.init(
            status: Status(code: code, reasonPhrase: head.status.reasonPhrase),
            headerFields: try HTTPFields(head.headers))
    }
}

extension Response {
    /// Creates a response to a request from a head of swift-http-types and content.
    ///
    /// The reason phrase is dropped, because it has no meaning (RFC 9112 §4).
    /// - Parameters:
    ///   - response: The head.
    ///   - request: The request that the response answers.
    ///   - body: The content.
    /// - Throws: `ClientError.Code.invalidRequest` for a value that is not UTF-8.
    public init(_ response: HTTPResponse, to request: Request, body: ResponseBody = .empty) throws {
        self.init(
            to: request, status: HTTPStatus(response.status.code),
            headers: try HTTPHeaders(response.headerFields), body: body)
    }
}
