import Foundation
import TurnpikeCore

/// Takes the secrets out of what a cassette keeps, and leaves what a reader of the answer needs:
/// names of cookies, kinds of JSON values.
struct CassetteRedactor: Sendable {
    private let redaction: Redaction?
    private let known = KnownSecrets()

    init(_ redaction: Redaction?) { self.redaction = redaction }

    // MARK: What is learned

    func learn(from request: Request, content: Data?) {
        guard let redaction else { return }
        known.learn(
            KnownSecrets.secrets(of: request.url, by: redaction)
                + KnownSecrets.secrets(of: request.headers, by: redaction)
                + secrets(of: content, request.headers, redaction))
    }

    func learn(from headers: HTTPHeaders, content: Data?) {
        guard let redaction else { return }
        known.learn(
            KnownSecrets.secrets(of: headers, by: redaction)
                + secrets(of: content, headers, redaction))
    }

    private func secrets(
        of content: Data?, _ headers: HTTPHeaders, _ redaction: Redaction
    ) -> [String] {
        guard let content, !content.isEmpty else { return [] }
        if headers.mediaType?.essence == MediaType.form.essence {
            let fields = FormField.parse(String(decoding: content, as: UTF8.self))
            return KnownSecrets.secrets(of: fields, by: redaction)
        }
        let json = try? JSONValue(parsing: content)
        return json.map { KnownSecrets.secrets(of: $0, by: redaction) } ?? []
    }

    /// - Throws: ``/TurnpikeCore/ClientError/Code/tooLarge`` where there were too many secrets to be
    ///   looked for, so that one could stand in what is kept.
    func checkRoom() throws {
        guard known.isFull else { return }
        throw ClientError(
            .tooLarge,
            "the cassette met more secrets than can be looked for in its messages, so it is not"
                + " written; record less in one, or without redaction")
    }

    // MARK: What is kept

    func url(_ url: String) -> String {
        guard let redaction else { return url }
        return scrubbed(redaction.url(url))
    }

    func headers(_ headers: HTTPHeaders) -> HTTPHeaders {
        guard let redaction else { return headers }
        return HTTPHeaders(headers.map { ($0.name.rawValue, value(of: $0, redaction)) })
    }

    private func value(of field: HTTPHeaders.Field, _ redaction: Redaction) -> String {
        switch field.name {
        case .cookie: return cookies(field.value, hiding: .max)
        case .setCookie: return text(cookies(field.value, hiding: 1), redaction)
        case let name where redaction.hides(header: name): return Redaction.mark
        default: return text(field.value, redaction)
        }
    }

    // A jar, and a reader, go on working where the names stay.
    private func cookies(_ line: String, hiding count: Int) -> String {
        CookiePair.list(line).enumerated().map { index, pair in
            let isHidden = index < count && !pair.value.isEmpty
            let value = isHidden ? Redaction.mark : pair.value
            // A cookie without a name is its value.
            if pair.value.isEmpty { return index == 0 ? Redaction.mark : pair.name }
            return pair.name + "=" + value
        }.joined(separator: "; ")
    }

    /// Content without its secrets; of content that is no text those alone that are known.
    func content(_ data: Data, headers: HTTPHeaders) -> Data {
        guard let redaction, !data.isEmpty else { return data }
        let type = headers.mediaType
        if type?.type == "multipart", let boundary = type?[parameter: "boundary"] {
            return MultipartRedactor(boundary: boundary, redactor: self).redacted(data)
        }
        return part(data, type: type, redaction)
    }

    /// One part of multipart content: hidden where its name says so.
    func part(_ data: Data, name: String?, type: MediaType?) -> Data {
        guard let redaction else { return data }
        if let name, redaction.hides(key: name) { return Data(Redaction.mark.utf8) }
        return part(data, type: type, redaction)
    }

    private func part(_ data: Data, type: MediaType?, _ redaction: Redaction) -> Data {
        guard let plain = String(validating: data, as: UTF8.self) else {
            // Each byte is a character in Latin-1, whatever the charset is: nothing is lost.
            guard type?.type == "text", let plain = String(data: data, encoding: .isoLatin1) else {
                return scrubbed(data)
            }
            let shown = text(plain, type: type, redaction)
            return scrubbed(shown.data(using: .isoLatin1) ?? Data(shown.utf8))
        }
        if type?.essence == MediaType.form.essence {
            return scrubbed(Data(redaction.redacted(plain, type: type).utf8))
        }
        if let shown = json(plain, redaction) { return Data(shown.utf8) }
        return Data(scrubbed(text(plain, type: type, redaction)).utf8)
    }

    private func text(_ text: String, _ redaction: Redaction) -> String {
        json(text, redaction) ?? scrubbed(redaction.redacted(text, type: .plainText))
    }

    // Text may hold JSON in places: events, scripts, lines.
    private func text(_ text: String, type: MediaType?, _ redaction: Redaction) -> String {
        let isMarkup = type?.subtype == "xml" || type?.suffix == "xml"
        let inner = isMarkup ? text : redaction.redacted(text, type: .json)
        return redaction.redacted(inner, type: type)
    }

    // MARK: JSON

    // nil where the text is no JSON list or object. What hides nothing stays as it was written.
    private func json(_ text: String, _ redaction: Redaction) -> String? {
        guard Redaction.looksLikeJSON(text),
            let value = try? JSONValue(
                parsing: text, options: JSONReadingOptions(duplicateNames: .refuse))
        else { return nil }
        let shown = json(value, isHidden: false, redaction)
        return shown == value ? text : shown.description
    }

    // A value keeps its kind, so that it can still be decoded.
    private func json(
        _ value: JSONValue, isHidden: Bool, _ redaction: Redaction
    ) -> JSONValue {
        switch value {
        case .string(let plain):
            if plain.isEmpty { return value }
            return .string(isHidden ? Redaction.mark : text(plain, redaction))
        case .number(let number):
            // Shorter ones are counts and codes of errors.
            return isHidden && number.description.utf8.count > 3 ? 0 : value
        case .array(let elements):
            return .array(elements.map { json($0, isHidden: isHidden, redaction) })
        case .object(let object):
            return .object(
                JSONObject(
                    object.map { member in
                        let hides = isHidden || redaction.hides(key: member.name)
                        return (
                            scrubbed(member.name), json(member.value, isHidden: hides, redaction)
                        )
                    }))
        case .bool, .null: return value
        }
    }

    // MARK: Known secrets

    private func scrubbed(_ text: String) -> String {
        String(decoding: scrubbed(Data(text.utf8)), as: UTF8.self)
    }

    private func scrubbed(_ data: Data) -> Data {
        known.all.reduce(data) { $0.substituting($1, with: Data(Redaction.mark.utf8)) }
    }
}

extension HTTPHeaders {
    /// The media type of the content, where it is told.
    var mediaType: MediaType? { first(.contentType).flatMap(MediaType.init(parsing:)) }
}
