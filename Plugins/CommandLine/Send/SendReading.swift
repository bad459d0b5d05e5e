import Foundation
import Turnpike
import TurnpikeCore

/// Passes an answer on as it comes, or collects it where it is to be told as JSON.
struct SendReading: ResponseSerializer {
    let output: SendOutput
    let observed: ExecObservation
    /// Whether the content becomes a value in place of output.
    let collects: Bool
    /// Whether a status that is no success is refused, its content shown.
    let refuses: Bool

    func collectedBytes(in table: SerializerTable) -> Int { collects ? .max : 0 }

    func serialize(
        _ response: Response, context: SerializationContext
    ) async throws -> JSONValue? {
        observed.see(response)
        let isRefused = refuses && !(200..<300).contains(response.status.code)
        var value: JSONValue?
        if collects {
            let content = try await response.body.collect(upTo: context.maxBytes)
            value = Self.value(of: content, type: response.headers[.contentType])
            if isRefused { throw refusal(of: response, content) }
        } else {
            if !isRefused { try output.begin() }
            for try await chunk in response.body {
                try isRefused ? output.show(chunk) : output.write(chunk)
            }
            if isRefused { throw refusal(of: response, Data()) }
        }
        return value
    }

    private func refusal(of response: Response, _ content: Data) -> ClientError {
        ClientError(
            .validation, "the server answered \(response.status)", response: response.head,
            responseBody: content)
    }

    /// Content as a value: JSON as it is, text as text, nil for all else.
    static func value(of content: Data, type: String?) -> JSONValue? {
        let media = type.flatMap { MediaType(parsing: $0) }
        if media?.subtype == "json" || media?.suffix == "json",
            let value = try? JSONValue(parsing: content)
        {
            return value
        }
        if content.isEmpty { return nil }
        return String(validating: content, as: UTF8.self).map(JSONValue.string)
    }
}
