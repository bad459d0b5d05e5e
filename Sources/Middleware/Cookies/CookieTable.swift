// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

struct CookieTable: Sendable {
    fileprivate struct Entry: Sendable {
        var cookie: Cookie
        var used: UInt64
    }

    private var domains: [String: [Entry]] = [:]
    private var count = 0
    // The number of changes and uses so far, which orders the cookies by their latest use.
    private var clock: UInt64 = 0

    var isEmpty: Bool { count == 0 }

    var all: [Cookie] { domains.values.flatMap { $0.map(\.cookie) } }

    /// Adds, replaces or (if expired) removes a cookie, and returns whether the table changed.
    @discardableResult
    mutating func insert(_ cookie: Cookie, at date: Date) -> Bool {
        clock += 1
        let present = domains[cookie.domain]?.firstIndex { $0.cookie.isSame(as: cookie) }
        if cookie.isExpired(at: date) {
            guard let present else { return false }
            remove(at: present, of: cookie.domain)
            return true
        }
        guard let present else {
            var cookie = cookie
            cookie.serial = clock
            domains[cookie.domain, default: []].append(Entry(cookie: cookie, used: clock))
            count += 1
            shrink(cookie.domain, at: date)
            return true
        }
        // If a cookie is set again, the cookie keeps its creation date (RFC 6265bis §5.7).
        let before = domains[cookie.domain]?[present].cookie
        var cookie = cookie
        cookie.created = before?.created ?? cookie.created
        cookie.serial = before?.serial ?? clock
        domains[cookie.domain]?[present] = Entry(cookie: cookie, used: clock)
        return !(before.map { Grammar.areSame($0.value, cookie.value) && $0 == cookie } ?? false)
    }

    // Returns the cookies for a host that meet a condition, and marks these cookies as used.
    // Domains above `top` are not searched.
    mutating func use(
        forHost host: String, upTo top: String, at date: Date, where condition: (Cookie) -> Bool
    ) -> [Cookie] {
        var found: [Cookie] = []
        if host.utf8.count > HostName.maxBytes { return found }
        clock += 1
        var rest = host[...]
        while true {
            let domain = String(rest)
            for index in domains[domain]?.indices ?? 0..<0 {
                guard let cookie = domains[domain]?[index].cookie, !cookie.isExpired(at: date),
                    cookie.goes(toHost: host), condition(cookie)
                else { continue }
                domains[domain]?[index].used = clock
                found.append(cookie)
            }
            if domain == top { return found }
            guard let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) else { return found }
            rest = rest[rest.utf8.index(after: dot)...]
        }
    }

    /// Whether a cookie from an insecure connection would hide or replace a `Secure` cookie (RFC
    /// 6265bis §5.7, step 16).
    func shadowsSecure(_ cookie: Cookie) -> Bool {
        domains.contains { domain, entries in
            guard
                CookieRules.domain(domain, covers: cookie.domain)
                    || CookieRules.domain(cookie.domain, covers: domain)
            else { return false }
            return entries.contains {
                $0.cookie.isSecure && Grammar.areSame($0.cookie.name, cookie.name)
                    && $0.cookie.goes(toPath: cookie.path)
            }
        }
    }

    /// Removes the cookies that are sent to subdomains, from all domains that meet a condition.
    mutating func removeShared(where condition: (String) -> Bool) {
        for (domain, entries) in domains where condition(domain) {
            let own = entries.filter(\.cookie.isHostOnly)
            count -= entries.count - own.count
            domains[domain] = own.isEmpty ? nil : own
        }
    }

    private mutating func remove(at index: Int, of domain: String) {
        domains[domain]?.remove(at: index)
        if domains[domain]?.isEmpty == true { domains[domain] = nil }
        count -= 1
    }

    private mutating func shrink(_ domain: String, at date: Date) {
        if domains[domain, default: []].count > CookieJar.maxPerDomain {
            removeExpired(of: domain, at: date)
            while let entries = domains[domain], entries.count > CookieJar.maxPerDomain,
                let index = entries.indices.min(by: { entries[$0].goesBefore(entries[$1]) })
            {
                remove(at: index, of: domain)
            }
        }
        guard count > CookieJar.maxTotal else { return }
        for domain in Array(domains.keys) { removeExpired(of: domain, at: date) }
        while count > CookieJar.maxTotal, let (domain, index) = leastUsed {
            remove(at: index, of: domain)
        }
    }

    private mutating func removeExpired(of domain: String, at date: Date) {
        let before = domains[domain]?.count ?? 0
        domains[domain]?.removeAll { $0.cookie.isExpired(at: date) }
        let after = domains[domain]?.count ?? 0
        if after == 0 { domains[domain] = nil }
        count -= before - after
    }

    private var leastUsed: (domain: String, index: Int)? {
        var found: (domain: String, index: Int, used: UInt64)?
        for (domain, entries) in domains {
            for (index, entry) in entries.enumerated() where entry.used < found?.used ?? .max {
                found = (domain, index, entry.used)
            }
        }
        return found.map { ($0.domain, $0.index) }
    }
}

extension CookieTable.Entry {
    // Whether the table removes this cookie before the other cookie of the same domain.
    fileprivate func goesBefore(_ other: Self) -> Bool {
        if cookie.isSecure != other.cookie.isSecure { return !cookie.isSecure }
        return used < other.used
    }
}

extension Cookie {
    fileprivate func isSame(as other: Cookie) -> Bool {
        Grammar.areSame(name, other.name) && Grammar.areSame(path, other.path)
            && isHostOnly == other.isHostOnly
    }
}
