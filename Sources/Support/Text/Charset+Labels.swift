// SPDX-License-Identifier: Apache-2.0

extension Charset {
    /// Returns the encoding name for a label in lower case, or the label itself if it is not a
    /// known alias.
    ///
    /// The labels are those of the WHATWG Encoding Standard (§4.2) that servers send, and aliases
    /// of the IANA registry. As in that standard, `gb2312` and `euc-kr` stand for the larger
    /// encodings that servers send under these names.
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
        shift_jis shift-jis sjis x-sjis ms_kanji windows-31j cswindows31j csshiftjis cp932 ms932
        euc-jp x-euc-jp cseucpkdfmtjapanese
        iso-2022-jp csiso2022jp
        gbk x-gbk gb2312 gb_2312 gb_2312-80 csgb2312 chinese cp936 windows-936
        big5 big5-eten cn-big5 x-x-big5 csbig5 cp950
        cp949 windows-949 euc-kr ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 korean cseuckr
        """
}
