import Foundation

extension URL {
    /// The URL without the segments `.` and `..` in its path.
    ///
    /// Resolving removes them from every reference, an absolute one too (RFC 3986 §5.2.2), but
    /// Foundation leaves them in those. One transport would then send what another does not, and
    /// cookies, signatures and caches would judge a path that is not the one on the wire. A dot that
    /// is escaped (`%2e`) stays: no transport decodes it, and an escape goes out as the caller, or a
    /// redirect, wrote it.
    var withoutDotSegments: URL {
        let text = absoluteString
        guard Self.mayHaveDotSegments(text) else { return self }
        let bytes = Array(text.utf8)
        guard let place = Self.path(in: bytes) else { return self }
        let path = Self.removingDotSegments(bytes[place])
        if path.elementsEqual(bytes[place]) { return self }
        let result = bytes[..<place.lowerBound] + path + bytes[place.upperBound...]
        return URL(string: String(decoding: result, as: UTF8.self)) ?? self
    }

    // One look at the text: hardly a URL has any.
    private static func mayHaveDotSegments(_ text: String) -> Bool {
        let isFound = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
            var place = 1
            while place < bytes.count {
                if unsafe bytes[place] == UInt8(ascii: "."),
                    unsafe bytes[place - 1] == UInt8(ascii: "/")
                {
                    return true
                }
                place += 1
            }
            return false
        }
        return isFound ?? true
    }

    // Behind scheme and authority, before query and fragment.
    private static func path(in bytes: [UInt8]) -> Range<Int>? {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            bytes[(colon + 1)...].starts(with: "//".utf8),
            let start = bytes[(colon + 3)...].firstIndex(where: { "/?#".utf8.contains($0) }),
            bytes[start] == UInt8(ascii: "/")
        else { return nil }
        let end = bytes[start...].firstIndex { "?#".utf8.contains($0) }
        return start..<(end ?? bytes.count)
    }

    // RFC 3986 §5.2.4; the path begins with a slash.
    private static func removingDotSegments(_ path: ArraySlice<UInt8>) -> [UInt8] {
        let segments = path.dropFirst().split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        var kept: [ArraySlice<UInt8>] = []
        var isOpen = false
        for segment in segments {
            isOpen = segment.elementsEqual(".".utf8) || segment.elementsEqual("..".utf8)
            if segment.elementsEqual("..".utf8) { _ = kept.popLast() }
            if !isOpen { kept.append(segment) }
        }
        if isOpen { kept.append([]) }
        return [UInt8(ascii: "/")] + kept.joined(separator: [UInt8(ascii: "/")])
    }
}
