// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

/// Redacts what a cassette stores, unless redaction is turned off.
struct CassetteRedactor: Sendable {
    private let redactor: ExchangeRedactor?

    init(_ options: CassetteOptions) {
        redactor = options.redaction.map {
            ExchangeRedactor($0, allowedTypes: options.allowedTypes)
        }
    }

    // MARK: Learning

    func learn(from request: Request, content: Data?) {
        redactor?.learn(request, content: content)
    }

    func learn(from headers: HTTPHeaders, content: Data?) {
        redactor?.learn(headers, content: content)
    }

    /// - Throws: ``/TurnpikeCore/ClientError/Code/tooLarge`` if there were too many secrets to
    ///   search for, so that one could remain in the file.
    func checkRoom() throws {
        guard redactor?.isFull == true else { return }
        throw ClientError(
            .tooLarge,
            "the cassette found more secrets than it can search for in its messages, so it is not"
                + " written; record fewer exchanges in one file, or without redaction")
    }

    /// A version that grows with each secret that is learned.
    var knowledge: Int { redactor?.knowledge ?? 0 }

    // MARK: Redacting

    /// Returns the text of an entry without the secrets learned since it was created, or nil if it
    /// contains none of them.
    func renewed(_ entry: Data) -> Data? { redactor?.renewed(entry) }

    func url(_ url: String) -> String { redactor?.url(url) ?? url }

    func headers(_ headers: HTTPHeaders) -> HTTPHeaders { redactor?.headers(headers) ?? headers }

    /// Returns content without its secrets.
    /// - Parameters:
    ///   - data: The content.
    ///   - headers: The header fields, for the media type.
    ///   - isPartial: Whether the reader stopped before the end.
    ///   - isRecorded: Whether the content comes from a file and may already contain placeholders.
    /// - Returns: The content, and a line for each part that could not be searched.
    func content(
        _ data: Data, headers: HTTPHeaders, isPartial: Bool = false, isRecorded: Bool = false
    ) -> (content: Data, withheld: [String]) {
        guard let redactor else { return (data, []) }
        return redactor.content(data, headers: headers, isCut: isPartial, isRecorded: isRecorded)
    }
}

extension HTTPHeaders {
    /// The media type of the content, if there is one.
    var mediaType: MediaType? { first(.contentType).flatMap(MediaType.init(parsing:)) }
}
