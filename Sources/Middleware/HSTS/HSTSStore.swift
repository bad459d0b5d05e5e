// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
public import TurnpikeSupport

/// The hosts that require TLS (RFC 6797), in memory and, optionally, in a file.
///
/// The store keeps at most 10,000 hosts. If the store is full, the store removes the hosts that
/// expire first. The store ignores an expired host, and removes that host only when the store is
/// full. The store therefore loses no hosts if the clock of the system is wrong for a while.
///
/// The file has mode 0600. The store replaces the whole file one second after a change. The store
/// skips a line that is not valid. The conditions for the file are those of the file of a
/// ``CookieJar``. Clients of one process should share a store, because two stores with one file
/// overwrite each other's hosts. Clients whose stack files name the same file share one store.
public final class HSTSStore: Sendable {
    private struct Entry: Sendable, Equatable {
        var expires: Date
        var includesSubdomains: Bool
    }

    static let maxHosts = 10_000
    private let file: SavedFile?
    private let entries = Mutex<[String: Entry]>([:])

    /// Creates a store in memory.
    public init() { file = nil }

    /// Creates a store with a file.
    /// - Parameters:
    ///   - path: The path of the file, which need not exist.
    ///   - timeSource: Measures the delay before a write.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` if the file exists and the store
    ///   cannot read or must not trust the file. The message has the path and the reason.
    public init(file path: String, timeSource: any TimeSource = SystemTimeSource()) throws {
        let file = SavedFile(path: path, timeSource: timeSource)
        self.file = file
        let lines: [JSONObject]
        do {
            lines = try file.lines(maxBytes: 8 << 20)
        } catch {
            throw ClientError(
                .configuration, "the file of HSTS hosts cannot be read: \(error)",
                underlying: error)
        }
        for line in lines {
            guard let host = line["host"]?.string, let expires = line["expires"]?.int else {
                continue
            }
            let subdomains = line["includeSubDomains"]?.bool ?? false
            put(host, until: Date(timeIntervalSince1970: Double(expires)), subdomains)
        }
    }

    /// The hosts in alphabetical order, including expired hosts.
    public var hosts: [String] { entries.withLock { $0.keys.sorted() } }

    func requiresTLS(_ host: String, at date: Date) -> Bool {
        entries.withLock { entries in
            // The length of the name is bounded (RFC 1035 §2.3.4), because the store looks up every
            // suffix of the name.
            if entries.isEmpty || host.utf8.count > HostName.maxBytes { return false }
            var rest = Self.key(host)[...]
            var isHostItself = true
            while true {
                if let entry = entries[String(rest)], date < entry.expires,
                    isHostItself || entry.includesSubdomains
                {
                    return true
                }
                isHostItself = false
                guard let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) else { return false }
                rest = rest[rest.utf8.index(after: dot)...]
            }
        }
    }

    // Applies a `Strict-Transport-Security` line. Pass only lines of responses over TLS. The store
    // ignores a line from an IP address (RFC 6797 §8.1.1).
    func store(_ line: String, from host: String, at date: Date) {
        guard let policy = HSTSPolicy(line) else { return }
        if policy.maxAge == 0 {
            remove(host)
        } else {
            insert(
                host, until: date.addingTimeInterval(Double(policy.maxAge)),
                includesSubdomains: policy.includesSubdomains)
        }
    }

    /// Adds a host that requires TLS.
    public func insert(
        _ host: String, until expires: Date, includesSubdomains: Bool
    ) {
        if put(host, until: expires, includesSubdomains) { file?.changed(content) }
    }

    // Returns whether the file should be written.
    @discardableResult
    private func put(_ host: String, until expires: Date, _ includesSubdomains: Bool) -> Bool {
        guard case .name(let key) = HostName(host), key.utf8.count <= 253 else { return false }
        let entry = Entry(expires: expires, includesSubdomains: includesSubdomains)
        return entries.withLock { entries in
            // The file is not written if the expiry date moves only by seconds.
            let before = entries.updateValue(entry, forKey: key)
            if entries.count > Self.maxHosts { Self.shrink(&entries) }
            guard let before, before.includesSubdomains == includesSubdomains else { return true }
            return abs(before.expires.timeIntervalSince(expires)) > 3600
        }
    }

    /// Removes a host.
    func remove(_ host: String) {
        let entry = entries.withLock { $0.removeValue(forKey: Self.key(host)) }
        if entry != nil { file?.changed(content) }
    }

    func flush() async { await file?.flush(content) }

    func takeFault() -> String? { file?.takeFault() }

    private static func key(_ host: String) -> String {
        var host = host.lowercased()
        while host.utf8.last == UInt8(ascii: ".") { host.removeLast() }
        return host
    }

    // Removes the 10 % of the hosts that expire first, because one sort must serve many insertions.
    private static func shrink(_ entries: inout [String: Entry]) {
        let first = entries.sorted { $0.value.expires < $1.value.expires }.prefix(maxHosts / 10)
        for (host, _) in first { entries[host] = nil }
    }

    private func content() -> Data {
        let entries = entries.withLock { $0 }.sorted { $0.key < $1.key }
        return Data(
            entries.flatMap { host, entry in
                let seconds = min(max(entry.expires.timeIntervalSince1970, 0), 1e12)
                let line: JSONValue = [
                    "host": .string(host), "expires": .number(JSONNumber(Int(seconds))),
                    "includeSubDomains": .bool(entry.includesSubdomains),
                ]
                return line.data() + [UInt8(ascii: "\n")]
            })
    }
}
