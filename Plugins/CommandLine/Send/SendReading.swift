// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCore

/// Writes the content of a response as it arrives, or collects the content for JSON output.
struct SendReading: ResponseSerializer {
    let output: SendOutput
    let display: SendDisplay
    let observed: ExecObservation
    /// Whether the content becomes a value instead of being written.
    let collects: Bool
    let showsHead: Bool
    /// Whether a failed status is an error, although the content is shown.
    let refuses: Bool

    func collectedBytes(in table: SerializerTable) -> Int { collects ? .max : 0 }

    func serialize(
        _ response: Response, context: SerializationContext
    ) async throws -> JSONValue? {
        observed.see(response)
        let isRefused = refuses && !(200..<300).contains(response.status.code)
        if showsHead { try output.show(response.head) }
        var value: JSONValue?
        if collects {
            let content = try await response.body.collect(upTo: context.maxBytes)
            value = Self.value(of: content, type: response.headers[.contentType])
            if isRefused { throw refusal(of: response, content) }
        } else {
            if !isRefused { try output.begin() }
            display.begin(response.headers)
            // The beginning of the content, for the description of the error.
            var kept = Data()
            var isCut = false
            for try await chunk in response.body {
                if isRefused {
                    isCut = isCut || chunk.count > Self.keptBytes - kept.count
                    kept += chunk.prefix(Self.keptBytes - kept.count)
                }
                // If the content cannot be shown, the rest of the content is not read.
                guard try isRefused ? output.show(chunk) : output.write(chunk) else {
                    isCut = true
                    break
                }
            }
            if isRefused { throw refusal(of: response, kept, isCut: isCut) }
        }
        return value
    }

    private static let keptBytes = 65_536

    private func refusal(
        of response: Response, _ content: Data, isCut: Bool = false
    ) -> ClientError {
        ClientError(
            .validation, "the server answered \(response.status)", response: response.head,
            responseBody: content, isResponseBodyCut: isCut)
    }

    /// Returns content as a value: JSON, text, or nil for other content.
    static func value(of content: Data, type: String?) -> JSONValue? {
        let media = type.flatMap { MediaType(parsing: $0) }
        if media?.isJSON == true, let value = try? JSONValue(parsing: content) { return value }
        if content.isEmpty { return nil }
        return String(validating: content, as: UTF8.self).map(JSONValue.string)
    }
}
