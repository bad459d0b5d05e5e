// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeSupport

/// The same URI with one part changed, and all others byte for byte as they were.
extension TargetURI {
    /// Without user information.
    package var withoutUserInformation: TargetURI {
        guard let user = parts.userInformation else { return self }
        return changed(
            text.part(0..<user.lowerBound)
                + text.part((user.upperBound + 1)..<text.utf8.count))
    }

    /// For https; a port that is http's own goes.
    package var overTLS: TargetURI {
        guard let scheme = parts.scheme, let authority = parts.authority else { return self }
        let isOwn = parts.port.flatMap { Int(text.part($0)) } == 80
        let end = isOwn ? parts.port.map { $0.lowerBound - 1 } : nil
        return changed(
            "https" + text.part(scheme.upperBound..<(end ?? authority.upperBound))
                + text.part(authority.upperBound..<text.utf8.count))
    }

    /// With the scheme in lower case, and the fragment of another URI where it has none, as a
    /// redirect inherits it (RFC 9110 §10.2.2).
    package func redirected(from other: TargetURI) -> TargetURI {
        guard let scheme = parts.scheme else { return self }
        let inherited = parts.fragment == nil ? other.parts.fragment : nil
        return changed(
            text.part(scheme).lowercased() + text.part(scheme.upperBound..<text.utf8.count)
                + (inherited.map { "#" + other.text.part($0) } ?? ""))
    }

    /// With an encoded query behind the one that it has, before the fragment.
    package func appending(encodedQuery: String) -> TargetURI {
        if encodedQuery.isEmpty || fault != nil { return self }
        let end = parts.query?.upperBound ?? parts.path.upperBound
        let isOpen = parts.query.map { query in
            query.isEmpty || text.bytes(query).last == UInt8(ascii: "&")
        }
        let separator = isOpen.map { $0 ? "" : "&" } ?? "?"
        return changed(
            text.part(0..<end) + separator + encodedQuery
                + text.part(end..<text.utf8.count))
    }

    /// With the items of a query instead of those that have the same names.
    package func replacing(_ query: Query) -> TargetURI {
        if fault != nil { return self }
        let names = Set(query.items.map(\.name))
        let kept = (parts.query.map { text.part($0) } ?? "").split(separator: "&").filter { item in
            let name = String(item.prefix { $0 != "=" })
            return !names.contains(name.removingPercentEncoding ?? name)
        }
        let start = text.part(0..<parts.path.upperBound)
        let fragment = parts.fragment.map { "#" + text.part($0) } ?? ""
        let joined = kept.joined(separator: "&")
        return changed(start + (joined.isEmpty ? "" : "?" + joined) + fragment)
            .appending(encodedQuery: query.encoded)
    }

    /// With a slash behind its path, so that a relative path is appended to it.
    var asDirectory: TargetURI {
        if text.bytes(parts.path).last == UInt8(ascii: "/") { return self }
        return changed(text.part(0..<parts.path.upperBound) + "/")
    }

    /// Without path, query and fragment.
    var withoutPath: TargetURI { changed(text.part(0..<parts.path.lowerBound)) }

    private func changed(_ text: String) -> TargetURI {
        if text.utf8.count == self.text.utf8.count, Grammar.areSame(text, self.text) { return self }
        guard let url = URL(string: text) else {
            return TargetURI(fault: Self.fault(ofUnreadable: text))
        }
        return TargetURI(url)
    }
}
