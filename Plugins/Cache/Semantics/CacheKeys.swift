// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

/// The keys under which a request finds responses: those for everybody, and those of its identity.
struct CacheKeys: Sendable {
    private let identity: CacheIdentity
    private let everybody: CacheKey
    // nil if there is no credential.
    private let credential: CacheKey?
    // nil if the person is known by the credential alone, or not at all.
    private let person: CacheKey?

    /// Creates the keys of a URL for an identity; nil where the URL is not http or https.
    init?(_ uri: TargetURI, _ identity: CacheIdentity) {
        guard let text = CacheKey.text(of: uri) else { return nil }
        self.identity = identity
        everybody = CacheKey(url: text, partition: identity.everybody)
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
    func keys(of uri: TargetURI) -> CacheKeys? { CacheKeys(uri, identity) }

    /// Whether both are of the same URL.
    func isSameURL(as other: CacheKeys) -> Bool { everybody == other.everybody }

    /// Finds something under one of the keys, the caller's own first: a shared response may not be what
    /// this caller would get.
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

    /// The key of responses for this person alone; all callers of whom nothing is known are one person.
    var personal: CacheKey { person ?? credential ?? everybody }

    /// The key of what most responses to this identity are found by: all but those for one person.
    var common: CacheKey { credential ?? everybody }

    /// Whether a key is only this person's, where others have the same ``common`` one.
    func isPersonal(_ key: CacheKey) -> Bool { key == person }

    /// Whether a key is one of these.
    func contains(_ key: CacheKey) -> Bool {
        key == everybody || key == credential || key == person
    }

    /// Whether a response under one of the keys may be used for this identity.
    ///
    /// A personal response has the shared key if nothing was known of the one who asked.
    func allows(_ key: CacheKey, isPersonal: Bool) -> Bool {
        contains(key) && (!isPersonal || key == personal)
    }

    /// Whether a key is this identity's own, and nobody else's.
    func isOwn(_ key: CacheKey) -> Bool { key != everybody && contains(key) }
}
