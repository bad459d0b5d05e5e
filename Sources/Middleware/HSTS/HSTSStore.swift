public import Foundation
import Synchronization
public import TurnpikeCore

/// The hosts that want TLS (RFC 6797), in memory, and in a file if wished.
///
/// At most ``maxHosts`` are kept; above that the one goes whose wish ends first. The file has mode
/// 0600, is replaced as a whole a second after a change, and a line in it that is none is passed
/// over. Two stores with one file overwrite each other's hosts: let the clients of a process share
/// a store, as those do whose stack files name one file.
public final class HSTSStore: Sendable {
    private struct Entry: Sendable, Equatable {
        var expires: Date
        var includesSubdomains: Bool
    }

    /// The most hosts.
    public static let maxHosts = 10_000
    private let file: SavedFile?
    private let entries = Mutex<[String: Entry]>([:])

    /// Creates a store in memory.
    public init() { file = nil }

    /// Creates a store that is kept in a file.
    /// - Parameters:
    ///   - path: The file; it need not exist.
    ///   - timeSource: What the delay of writing is measured on.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` where there is a file that cannot
    ///   be read.
    public init(file path: String, timeSource: any TimeSource = SystemTimeSource()) throws {
        file = SavedFile(path: path, timeSource: timeSource)
        let lines: [JSONObject]
        do {
            lines = try SavedFile.lines(of: path, maxBytes: 8 << 20)
        } catch {
            throw ClientError(
                .configuration, "the file of HSTS hosts cannot be read", underlying: error)
        }
        let date = timeSource.date
        for line in lines {
            guard let host = line["host"]?.string, let expires = line["expires"]?.int else {
                continue
            }
            let subdomains = line["includeSubDomains"]?.bool ?? false
            let end = Date(timeIntervalSince1970: Double(expires))
            if end > date { insert(host, until: end, includesSubdomains: subdomains, at: date) }
        }
    }

    /// The hosts, in order.
    public var hosts: [String] { entries.withLock { $0.keys.sorted() } }

    /// Whether requests to a host must use TLS.
    public func requiresTLS(_ host: String, at date: Date) -> Bool {
        entries.withLock { entries in
            // A name is looked for with each of its ends, and none is longer (RFC 1035 §2.3.4).
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

    /// Takes a `Strict-Transport-Security` line.
    ///
    /// Only what came over TLS may be given. An address is no host that can have such a wish (RFC
    /// 6797 §8.1.1).
    public func store(_ line: String, from host: String, at date: Date) {
        guard let policy = HSTSPolicy(line) else { return }
        if policy.maxAge == 0 {
            remove(host)
        } else {
            insert(
                host, until: date.addingTimeInterval(Double(policy.maxAge)),
                includesSubdomains: policy.includesSubdomains, at: date)
        }
    }

    /// Adds a host of which it is known that it wants TLS.
    public func insert(
        _ host: String, until expires: Date, includesSubdomains: Bool, at date: Date
    ) {
        guard case .name(let key) = HostName(host), key.utf8.count <= 253 else { return }
        let entry = Entry(expires: expires, includesSubdomains: includesSubdomains)
        let hasChanged = entries.withLock { entries in
            // An end that moves by seconds with each response is not worth a write.
            let before = entries.updateValue(entry, forKey: key)
            if entries.count > Self.maxHosts { Self.shrink(&entries, at: date) }
            guard let before, before.includesSubdomains == includesSubdomains else { return true }
            return abs(before.expires.timeIntervalSince(expires)) > 3600
        }
        if hasChanged { file?.changed(content) }
    }

    /// Removes a host.
    public func remove(_ host: String) {
        let entry = entries.withLock { $0.removeValue(forKey: Self.key(host)) }
        if entry != nil { file?.changed(content) }
    }

    /// Returns when all changes so far are in the file.
    public func flush() async { await file?.flush(content) }

    private static func key(_ host: String) -> String {
        var host = host.lowercased()
        while host.utf8.last == UInt8(ascii: ".") { host.removeLast() }
        return host
    }

    // A tenth goes at once, so that the search is paid for by many insertions.
    private static func shrink(_ entries: inout [String: Entry], at date: Date) {
        entries = entries.filter { date < $0.value.expires }
        guard entries.count > maxHosts else { return }
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
