import Foundation
import Synchronization
import TurnpikeCore

/// The secrets that a cassette has met, in case a later message repeats one in a place that does
/// not tell it is one: a token of an answer in the path of the next request.
final class KnownSecrets: Sendable {
    // Bytes, for another spelling of the same characters is another secret.
    private let known = Mutex(Known())

    private struct Known {
        var secrets: [Data] = []
        var isFull = false
    }

    // Each is looked for in every text.
    private static let limit = 1000

    /// All of them, the longest first, each as it is and as a URL may hold it.
    var all: [Data] { known.withLock { $0.secrets } }

    /// Whether there were more than can be looked for: what is not known could be anywhere.
    var isFull: Bool { known.withLock { $0.isFull } }

    func learn(_ secrets: [String]) {
        let variants = secrets.filter { $0.utf8.firstRange(of: Redaction.mark.utf8) == nil }
            .flatMap { secret in
                [Data(secret.utf8), Data(PercentEncoding.unreserved.encode(secret).utf8)]
            }
        known.withLock { known in
            let news = Set(variants).subtracting(known.secrets)
            if news.isEmpty { return }
            guard known.secrets.count + news.count <= Self.limit else {
                known.isFull = true
                return
            }
            known.secrets += news
            known.secrets.sort { left, right in
                left.count == right.count
                    ? left.lexicographicallyPrecedes(right) : left.count > right.count
            }
        }
    }

    // MARK: Where they stand

    static func secrets(of url: URL, by redaction: Redaction) -> [String] {
        let parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        let fields = FormField.parse(parts?.percentEncodedQuery ?? "")
        return secrets(of: fields, by: redaction)
            + [parts?.password, parts?.user].compactMap(\.self).filter(tellsApart)
    }

    static func secrets(of fields: [FormField], by redaction: Redaction) -> [String] {
        fields.compactMap { field in
            redaction.hides(key: field.name) && isSecret(field.value, of: field.name)
                ? field.value : nil
        }
    }

    static func secrets(of headers: HTTPHeaders, by redaction: Redaction) -> [String] {
        headers.flatMap { field -> [String] in
            switch field.name {
            case .cookie:
                return CookiePair.list(field.value).map(\.value).filter(tellsApart)
            case .setCookie:
                return CookiePair.list(field.value).prefix(1).map(\.value).filter(tellsApart)
            case let name where redaction.hides(header: name):
                let words = field.value.unicodeScalars.split(separator: " ", maxSplits: 1)
                    .map { String(Substring($0)) }
                let credential = words.last ?? ""
                var found = [field.value, credential]
                if words.first?.lowercased() == "basic", let pair = Data(base64Encoded: credential)
                {
                    let pair = String(decoding: pair, as: UTF8.self)
                    found += pair.unicodeScalars.split(separator: ":", maxSplits: 1).dropFirst()
                        .map { String(Substring($0)) }
                }
                return found.filter { $0.utf8.count >= 8 || tellsApart($0) }
            default: return []
            }
        }
    }

    static func secrets(of content: JSONValue, by redaction: Redaction) -> [String] {
        switch content {
        case .array(let elements): elements.flatMap { secrets(of: $0, by: redaction) }
        case .object(let object):
            object.flatMap { member in
                redaction.hides(key: member.name)
                    ? leaves(member.value).filter { isSecret($0, of: member.name) }
                    : secrets(of: member.value, by: redaction)
            }
        default: []
        }
    }

    private static func leaves(_ value: JSONValue) -> [String] {
        switch value {
        case .string(let text): [text]
        case .array(let elements): elements.flatMap(leaves)
        case .object(let object): object.flatMap { leaves($0.value) }
        default: []
        }
    }

    // What a person wrote, or what is short, stands everywhere: hiding it there would spoil the
    // recording.
    private static func isSecret(_ value: String, of name: String) -> Bool {
        tellsApart(value) || (Redaction.isKeyLike(name.lowercased()) && value.utf8.count >= 8)
    }

    private static func tellsApart(_ value: String) -> Bool { Redaction.looksMade(value[...]) }
}

/// A name and a value of a `Cookie` or `Set-Cookie` line.
struct CookiePair {
    let name: String
    let value: String

    /// The pairs of a line; in a `Set-Cookie` line the attributes come behind the first one.
    static func list(_ line: String) -> [CookiePair] {
        line.unicodeScalars.split(separator: ";").map { piece in
            let parts = piece.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                .map { String(Grammar.trimmed(Substring($0))) }
            return CookiePair(name: parts[0], value: parts.count > 1 ? parts[1] : "")
        }
    }
}
