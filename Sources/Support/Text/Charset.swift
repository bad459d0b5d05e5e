// SPDX-License-Identifier: Apache-2.0

/// A character encoding that a peer names.
public enum Charset {
    case foundation(String.Encoding)
    /// An encoding that the C library's iconv supports, but `FoundationEssentials` does not.
    case library(String)

    /// Creates the encoding for a label, ignoring ASCII case and surrounding whitespace, or nil if
    /// neither this library nor the system's C library supports the encoding.
    public init?(label: String) {
        let name = Self.name(of: Grammar.trimmed(label).lowercased())
        switch name {
        case "utf-8": self = .foundation(.utf8)
        // Without a byte order mark, UTF-16 is big-endian (RFC 2781 §4.3).
        case "utf-16": self = .foundation(.utf16BigEndian)
        case "utf-32": self = .foundation(.utf32BigEndian)
        case "iso-8859-1": self = .foundation(.isoLatin1)
        // UTF-7 is refused, because UTF-7 can hide markup, as in the WHATWG standard.
        case "utf-7": return nil
        default:
            if Self.iconvNames.contains(name), Self.libraryKnows(name) {
                self = .library(name)
            } else if let encoding = String.Encoding(ianaName: name) {
                self = .foundation(encoding)
            } else {
                return nil
            }
        }
    }

    private static let macRoman = "macintosh"

    // `iconv_open` loads modules by name, and therefore gets only the names of this list.
    private static let iconvNames: Set<String> = [
        "koi8-r", "koi8-u", "euc-jp", "iso-2022-jp", "gbk", "gb18030", "big5", "big5-hkscs",
        "cp949", "cp932", "euc-tw", "iso-8859-2", "iso-8859-3", "iso-8859-4", "iso-8859-5",
        "iso-8859-6", "iso-8859-7", "iso-8859-8", "iso-8859-9", "iso-8859-10", "iso-8859-13",
        "iso-8859-14", "iso-8859-15", "iso-8859-16", "tis-620", "windows-874", "windows-1250",
        "windows-1251", "windows-1252", "windows-1253", "windows-1254", "windows-1255",
        "windows-1256", "windows-1257", "windows-1258", "ibm866", "cp866", "iso-2022-kr",
        // Foundation on Linux decodes this encoding incorrectly.
        macRoman,
    ]

    /// Returns the encoding of a byte order mark, and the length of the mark.
    public static func byteOrderMark(of content: Data) -> (Charset, Int)? {
        if content.starts(with: [0xEF, 0xBB, 0xBF]) { return (.foundation(.utf8), 3) }
        if content.starts(with: [0xFF, 0xFE, 0, 0]) { return (.foundation(.utf32LittleEndian), 4) }
        if content.starts(with: [0, 0, 0xFE, 0xFF]) { return (.foundation(.utf32BigEndian), 4) }
        if content.starts(with: [0xFF, 0xFE]) { return (.foundation(.utf16LittleEndian), 2) }
        if content.starts(with: [0xFE, 0xFF]) { return (.foundation(.utf16BigEndian), 2) }
        return nil
    }

    /// Returns the text, or nil if the bytes are not valid in the encoding.
    public func decode(_ content: Data) -> String? {
        switch self {
        case .foundation(.utf8): String(validating: content, as: UTF8.self)
        case .foundation(.macOSRoman): Self.convert(content, from: Self.macRoman)
        // Foundation ignores an incomplete code unit at the end.
        case .foundation(let encoding) where content.count % Self.unitBytes(encoding) != 0: nil
        case .foundation(let encoding): String(data: content, encoding: encoding)
        case .library(let name): Self.convert(content, from: name)
        }
    }

    private static func unitBytes(_ encoding: String.Encoding) -> Int {
        switch encoding {
        case .utf16, .utf16LittleEndian, .utf16BigEndian: 2
        case .utf32, .utf32LittleEndian, .utf32BigEndian: 4
        default: 1
        }
    }

    #if canImport(Glibc) || canImport(Musl)
    private static func libraryKnows(_ name: String) -> Bool {
        let converter = unsafe iconv_open("UTF-8", name)
        guard let converter = unsafe converter, Int(bitPattern: converter) != -1 else {
            return false
        }
        return unsafe iconv_close(converter) == 0
    }

    private static func convert(_ content: Data, from name: String) -> String? {
        let converter = unsafe iconv_open("UTF-8", name)
        guard let converter = unsafe converter, Int(bitPattern: converter) != -1 else { return nil }
        defer { _ = unsafe iconv_close(converter) }
        var input = Array(content)
        // No encoding of the list expands one byte to more than four bytes.
        var output = [UInt8](repeating: 0, count: input.count * 4 + 16)
        let written = unsafe input.withUnsafeMutableBytes { input in
            unsafe output.withUnsafeMutableBytes { output -> Int? in
                var source = unsafe input.baseAddress?.assumingMemoryBound(to: CChar.self)
                var sourceLeft = input.count
                var target = unsafe output.baseAddress?.assumingMemoryBound(to: CChar.self)
                var targetLeft = output.count
                let result = unsafe iconv(converter, &source, &sourceLeft, &target, &targetLeft)
                if result == .max || sourceLeft > 0 { return nil }
                // This call returns a last letter that iconv has buffered for a combining mark.
                let rest = unsafe iconv(converter, nil, nil, &target, &targetLeft)
                return rest == .max ? nil : output.count - targetLeft
            }
        }
        return written.map { String(decoding: output[..<$0], as: UTF8.self) }
    }
    #else
    private static func libraryKnows(_ name: String) -> Bool { false }
    private static func convert(_ content: Data, from name: String) -> String? { nil }
    #endif
}

extension Charset {
    /// Returns the encoding name for a label in lower case, or the label if it is not an alias.
    ///
    /// The aliases are labels of the WHATWG Encoding Standard (§4.2) that servers send, and aliases
    /// of the IANA registry. As in the WHATWG standard, `gb2312` and `euc-kr` mean the larger
    /// encodings that servers send under the two names.
    static func name(of label: String) -> String {
        if let name = names[label] { return name }
        for prefix in ["iso8859-", "iso_8859-", "iso8859"] {
            if let number = number(of: label, behind: prefix) { return "iso-8859-\(number)" }
        }
        for prefix in ["cp", "x-cp", "win-"] {
            if let number = number(of: label, behind: prefix), (1250...1258).contains(number) {
                return "windows-\(number)"
            }
        }
        return label
    }

    private static func number(of label: String, behind prefix: String) -> Int? {
        guard label.hasPrefix(prefix) else { return nil }
        let digits = label.dropFirst(prefix.count)
        return digits.utf8.allSatisfy { $0 &- UInt8(ascii: "0") < 10 } ? Int(digits) : nil
    }

    private static let names: [String: String] = Dictionary(
        uniqueKeysWithValues: table.split(separator: "\n").flatMap { line in
            let words = line.split(separator: " ").map(String.init)
            return words.dropFirst().map { ($0, words[0]) }
        })

    private static let table = """
        utf-8 utf8 unicode-1-1-utf-8
        us-ascii ascii us iso646-us
        iso-8859-1 latin1 latin-1 l1 cp819
        iso-8859-2 latin2 l2
        iso-8859-3 latin3 l3
        iso-8859-4 latin4 l4
        iso-8859-5 cyrillic
        iso-8859-6 arabic
        iso-8859-7 greek greek8
        iso-8859-8 hebrew iso-8859-8-i iso-8859-8-e
        iso-8859-9 latin5 l5
        iso-8859-10 latin6 l6
        iso-8859-15 latin9 latin-9 l9
        windows-874 dos-874 iso-8859-11
        koi8-r koi koi8 koi8_r cskoi8r
        koi8-u koi8-ru
        ibm866 866 csibm866
        macintosh mac x-mac-roman csmacintosh
        cp932 shift_jis shift-jis sjis x-sjis ms_kanji windows-31j cswindows31j csshiftjis ms932
        euc-jp x-euc-jp cseucpkdfmtjapanese
        iso-2022-jp csiso2022jp
        gbk x-gbk gb2312 gb_2312 gb_2312-80 csgb2312 chinese cp936 windows-936
        big5 big5-eten cn-big5 x-x-big5 csbig5 cp950
        cp949 windows-949 euc-kr ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 korean cseuckr
        """
}
