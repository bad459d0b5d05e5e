import Foundation
import TurnpikeCore

/// Takes the secrets out of what a cassette keeps, where it is not told to keep them.
struct CassetteRedactor: Sendable {
    private let redactor: ExchangeRedactor?

    init(_ redaction: Redaction?) { redactor = redaction.map(ExchangeRedactor.init) }

    // MARK: What is learned

    func learn(from request: Request, content: Data?) {
        redactor?.learn(request, content: content)
    }

    func learn(from headers: HTTPHeaders, content: Data?) {
        redactor?.learn(headers, content: content)
    }

    /// - Throws: ``/TurnpikeCore/ClientError/Code/tooLarge`` where there were too many secrets to be
    ///   looked for, so that one could stand in what is kept.
    func checkRoom() throws {
        guard redactor?.isFull == true else { return }
        throw ClientError(
            .tooLarge,
            "the cassette met more secrets than can be looked for in its messages, so it is not"
                + " written; record less in one, or without redaction")
    }

    /// Grows with each secret that is learned.
    var knowledge: Int { redactor?.knowledge ?? 0 }

    // MARK: What is kept

    /// The text of an entry without the secrets that were learned since it was made; nil where it holds
    /// none of them.
    func renewed(_ entry: Data) -> Data? { redactor?.renewed(entry) }

    func url(_ url: String) -> String { redactor?.url(url) ?? url }

    func headers(_ headers: HTTPHeaders) -> HTTPHeaders { redactor?.headers(headers) ?? headers }

    /// Content without its secrets.
    /// - Parameters:
    ///   - data: The content.
    ///   - headers: The header fields that tell its type.
    ///   - isPartial: Whether its reader left before its end.
    ///   - isRecorded: Whether it comes from a file, where placeholders stand already.
    /// - Returns: The content, and a line for each part of it that nobody could look into.
    func content(
        _ data: Data, headers: HTTPHeaders, isPartial: Bool = false, isRecorded: Bool = false
    ) -> (content: Data, withheld: [String]) {
        guard let redactor else { return (data, []) }
        let shown = redactor.content(
            data, headers: headers, isCut: isPartial, isRecorded: isRecorded)
        return (shown.content, shown.withheld.map(\.description))
    }
}

extension HTTPHeaders {
    /// The media type of the content, where it is told.
    var mediaType: MediaType? { first(.contentType).flatMap(MediaType.init(parsing:)) }
}
