import Foundation
import TurnpikeCore

/// The keys under which a request finds responses, by whom they are for.
struct CacheKeys: Sendable {
    private let identity: CacheIdentity
    private let everybody: CacheKey
    // nil where it is the next one.
    private let credential: CacheKey?
    private let person: CacheKey?

    /// Creates the keys of a URL for an identity; nil where the URL is not http or https.
    init?(_ url: URL, _ identity: CacheIdentity) {
        guard let text = CacheKey.text(of: url) else { return nil }
        self.identity = identity
        everybody = CacheKey(url: text)
        credential = identity.credential.map { CacheKey(url: text, partition: $0) }
        person =
            identity.person == identity.credential
            ? nil : identity.person.map { CacheKey(url: text, partition: $0) }
    }

    /// The normalised URL.
    var url: String { everybody.url }

    /// Whether the URL is not too long to be stored.
    var isStorable: Bool { url.utf8.count <= CacheKey.maxURLBytes }

    /// The keys of the same identity for another URL.
    func keys(of url: URL) -> CacheKeys? { CacheKeys(url, identity) }

    /// Whether they are those of the same URL.
    func isSameURL(as other: CacheKeys) -> Bool { everybody == other.everybody }

    /// What is found first under one of the keys: the caller's own come first, for what all share
    /// need not be what this caller gets.
    func first<Value>(
        _ find: (CacheKey) async throws -> Value?
    ) async rethrows -> Value? {
        if let person, let found = try await find(person) { return found }
        if let credential, let found = try await find(credential) { return found }
        return try await find(everybody)
    }

    /// All of them.
    var all: [CacheKey] { [person, credential, everybody].compactMap(\.self) }

    /// The key of a response to this identity.
    func key(of control: CacheControl, isPersonal: Bool) -> CacheKey {
        switch identity.audience(of: control, isPersonal: isPersonal) {
        case .person: personal
        case .credential: credential ?? everybody
        case .everybody: everybody
        }
    }

    /// The key of what is for this person alone; callers that nothing is known of are one.
    var personal: CacheKey { person ?? credential ?? everybody }

    /// Whether a key is one of these.
    func contains(_ key: CacheKey) -> Bool {
        key == everybody || key == credential || key == person
    }

    /// Whether a response under one of the keys may be used for this identity.
    ///
    /// What is personal stands among what all share where nothing was known of the one who asked.
    func allows(_ key: CacheKey, isPersonal: Bool) -> Bool {
        contains(key) && (!isPersonal || key == personal)
    }

    /// Whether a key is this identity's own, and nobody else's.
    func isOwn(_ key: CacheKey) -> Bool { key != everybody && contains(key) }
}
