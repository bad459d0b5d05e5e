// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// The key of a stored response, made of method, normalised URL and owner.
///
/// If the response has a `Vary`, a key may have several variants. Scheme and host are in lower
/// case. The key contains no fragment, user information or default port, because these parts do not
/// select another response. Path and query stay unchanged, because a server may distinguish
/// equivalent spellings.
public struct CacheKey: Sendable {
    private final class Storage: Sendable {
        let method: HTTPMethod
        let url: String
        let partition: String?
        let hash: Int

        init(_ method: HTTPMethod, _ url: String, _ partition: String?) {
            self.method = method
            self.url = url
            self.partition = partition
            var hasher = Hasher()
            hasher.combine(method)
            hasher.combine(url)
            hasher.combine(partition)
            hash = hasher.finalize()
        }
    }

    // A key is one reference, because each call copies the key and looks up the key about six
    // times. The hash of the parts is computed once.
    private let storage: Storage

    /// The method; the gate `cache` stores entries only for `GET`.
    public var method: HTTPMethod { storage.method }
    /// The normalised URL.
    public var url: String { storage.url }
    /// The owner of the response, which is one caller or all callers of a cache's partition.
    public var partition: String? { storage.partition }

    static let maxURLBytes = 8192

    /// Creates a key from its parts.
    public init(method: HTTPMethod = .get, url: String, partition: String? = nil) {
        storage = Storage(method, url, partition)
    }

    /// Creates the key of an http or https URL of at most 8 KiB; nil for other URLs.
    public init?(method: HTTPMethod = .get, _ url: URL, partition: String? = nil) {
        guard let text = Self.text(of: TargetURI(url)), text.utf8.count <= Self.maxURLBytes else {
            return nil
        }
        self.init(method: method, url: text, partition: partition)
    }

    static func text(of uri: TargetURI) -> String? {
        guard let origin = uri.origin?.description else { return nil }
        let form = uri.absoluteForm
        // Nearly all URIs are already normal.
        let isNormal =
            form.hasPrefix(origin)
            && form.utf8.dropFirst(origin.utf8.count).first == UInt8(ascii: "/")
        return isNormal ? form : origin + uri.originForm
    }
}

extension CacheKey: Hashable {
    /// Whether method, URL and partition are the same.
    public static func == (left: Self, right: Self) -> Bool {
        let (left, right) = (left.storage, right.storage)
        if left === right { return true }
        return left.hash == right.hash && Grammar.areSame(left.url, right.url)
            && left.method == right.method && Grammar.areSame(left.partition, right.partition)
    }

    /// Feeds the key to a hasher.
    public func hash(into hasher: inout Hasher) { hasher.combine(storage.hash) }
}

extension CacheKey: CustomStringConvertible {
    /// The method and the URL without secrets.
    public var description: String { "\(method) \(Redaction.standard.url(url))" }
}

/// Computes a short digest of a text that does not reveal the text.
enum Digest {
    static func text(_ text: String) -> String {
        SHA256.digest(of: Data(text.utf8)).prefix(16).hexadecimal
    }
}

/// The keys under which a request finds responses.
struct CacheKeys: Sendable {
    private let identity: CacheIdentity
    private let everybody: CacheKey
    private let credential: CacheKey?
    // The value is nil unless cookies identify the person.
    private let person: CacheKey?

    init?(_ uri: TargetURI, _ identity: CacheIdentity) {
        guard let text = CacheKey.text(of: uri) else { return nil }
        self.identity = identity
        everybody = CacheKey(url: text, partition: identity.everybody)
        credential = identity.credential.map { CacheKey(url: text, partition: $0) }
        person =
            identity.person == identity.credential
            ? nil : identity.person.map { CacheKey(url: text, partition: $0) }
    }

    var url: String { everybody.url }

    var isStorable: Bool { url.utf8.count <= CacheKey.maxURLBytes }

    func keys(of uri: TargetURI) -> CacheKeys? { CacheKeys(uri, identity) }

    func isSameURL(as other: CacheKeys) -> Bool { everybody == other.everybody }

    /// Finds a value under one of the keys.
    ///
    /// The caller's own keys come first, because a shared response may differ from the response
    /// that the origin would send to this caller.
    func first<Value>(
        _ find: (CacheKey) async throws -> Value?
    ) async rethrows -> Value? {
        if let person, let found = try await find(person) { return found }
        if let credential, let found = try await find(credential) { return found }
        return try await find(everybody)
    }

    var all: [CacheKey] { [person, credential, everybody].compactMap(\.self) }

    func key(of control: CacheControl, isPersonal: Bool) -> CacheKey {
        switch identity.audience(of: control, isPersonal: isPersonal) {
        case .person: personal
        case .credential: credential ?? everybody
        case .everybody: everybody
        }
    }

    // The key of responses for this person only. Callers without identity count as one person.
    var personal: CacheKey { person ?? credential ?? everybody }

    /// The key of responses for all callers with this credential.
    var common: CacheKey { credential ?? everybody }

    /// Whether a key belongs to this person only, and not to all callers with this credential.
    func isPersonal(_ key: CacheKey) -> Bool { key == person }

    func contains(_ key: CacheKey) -> Bool {
        key == everybody || key == credential || key == person
    }

    /// Whether a response under one of the keys may be used for this identity.
    ///
    /// If a request does not identify the caller, even a personal response has the shared key.
    func allows(_ key: CacheKey, isPersonal: Bool) -> Bool {
        contains(key) && (!isPersonal || key == personal)
    }

    func isOwn(_ key: CacheKey) -> Bool { key != everybody && contains(key) }
}
