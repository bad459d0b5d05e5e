import TurnpikeCore

extension CacheControl {
    /// What a line adds that has no more than the most common directives, as nearly all lines have;
    /// nil for another one, which is to be read with all care.
    func plain(_ line: String) -> CacheControl? {
        unsafe line.utf8.withContiguousStorageIfAvailable { bytes in
            var result = self
            return unsafe result.addPlain(bytes) ? result : nil
        } ?? nil
    }

    private mutating func addPlain(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var rest = unsafe bytes[...]
        while true {
            while let byte = unsafe rest.first, byte == UInt8(ascii: ",") || Grammar.isBlank(byte) {
                unsafe rest.removeFirst()
            }
            if unsafe rest.isEmpty { return true }
            let name = unsafe Self.name(&rest)
            let seconds: Int64?
            if unsafe rest.first == UInt8(ascii: "=") {
                unsafe rest.removeFirst()
                seconds = unsafe Self.seconds(&rest)
                if seconds == nil { return false }
            } else {
                seconds = nil
            }
            guard let name, add(name, seconds) else { return false }
            while let byte = unsafe rest.first, Grammar.isBlank(byte) { unsafe rest.removeFirst() }
            // What comes then is neither a member's end nor one that is read here.
            if let byte = unsafe rest.first, byte != UInt8(ascii: ",") { return false }
        }
    }

    private static func name(_ rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> ShortName? {
        let end = unsafe rest.firstIndex { !Grammar.isTokenByte($0) } ?? rest.endIndex
        defer { unsafe rest = rest[end...] }
        return unsafe ShortName(
            UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: rest[..<end])))
    }

    // Up to nine digits.
    private static func seconds(_ rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> Int64? {
        var value: Int64 = 0
        var count = 0
        while let byte = unsafe rest.first, byte &- UInt8(ascii: "0") < 10 {
            value = value * 10 + Int64(byte - UInt8(ascii: "0"))
            count += 1
            if count > 9 { return nil }
            unsafe rest.removeFirst()
        }
        return count == 0 ? nil : value
    }

    private mutating func add(_ name: ShortName, _ seconds: Int64?) -> Bool {
        if let seconds {
            switch name {
            case Names.maxAge:
                isExplicit = true
                maxAge = min(maxAge ?? seconds, seconds)
            case Names.sharedMaxAge: sharedMaxAge = min(sharedMaxAge ?? seconds, seconds)
            default: return false
            }
            return true
        }
        switch name {
        case Names.public:
            isExplicit = true
            isPublic = true
        case Names.private:
            isExplicit = true
            isPrivate = true
        case Names.noStore: noStore = true
        case Names.noCache: noCache = true
        case Names.mustRevalidate: mustRevalidate = true
        case Names.immutable: isImmutable = true
        default: return false
        }
        return true
    }

    private enum Names {
        static let maxAge = ShortName("max-age")
        static let sharedMaxAge = ShortName("s-maxage")
        static let `public` = ShortName("public")
        static let `private` = ShortName("private")
        static let noStore = ShortName("no-store")
        static let noCache = ShortName("no-cache")
        static let mustRevalidate = ShortName("must-revalidate")
        static let immutable = ShortName("immutable")
    }
}
