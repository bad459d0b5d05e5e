// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TurnpikeMiddleware

/// A host and the name that somebody has registered of it; nil for none.
private typealias Case = (host: String, registrable: String?)

@Suite("PublicSuffixes")
struct PublicSuffixesTests {
    // The rules of the Public Suffix List that its cases are about.
    private static let rules = """
        ac
        biz
        com
        uk.com
        *.mm
        jp
        ac.jp
        kyoto.jp
        ide.kyoto.jp
        *.kobe.jp
        !city.kobe.jp
        *.ck
        !www.ck
        us
        ak.us
        k12.ak.us
        cn
        com.cn
        公司.cn
        中国
        """

    /// The cases of the list's project, and a few beside them.
    private static let cases: [Case] = [
        ("", nil),
        // Case, and dots in front and behind.
        ("COM", nil), ("example.COM", "example.com"), ("WwW.example.COM", "example.com"),
        (".com", nil), (".example", nil), (".example.com", nil), (".example.example", nil),
        ("com.", nil), ("example.com.", nil), ("a..com", nil), (".", nil),
        // A top level that is not listed is a suffix.
        ("example", nil), ("example.example", "example.example"),
        ("b.example.example", "example.example"), ("a.b.example.example", "example.example"),
        // One rule.
        ("biz", nil), ("domain.biz", "domain.biz"), ("b.domain.biz", "domain.biz"),
        ("a.b.domain.biz", "domain.biz"),
        // Rules of two labels.
        ("com", nil), ("example.com", "example.com"), ("b.example.com", "example.com"),
        ("a.b.example.com", "example.com"), ("uk.com", nil),
        ("example.uk.com", "example.uk.com"), ("b.example.uk.com", "example.uk.com"),
        ("a.b.example.uk.com", "example.uk.com"), ("test.ac", "test.ac"),
        // A wildcard.
        ("mm", nil), ("c.mm", nil), ("b.c.mm", "b.c.mm"), ("a.b.c.mm", "b.c.mm"),
        // All kinds of rules together.
        ("jp", nil), ("test.jp", "test.jp"), ("www.test.jp", "test.jp"), ("ac.jp", nil),
        ("test.ac.jp", "test.ac.jp"), ("www.test.ac.jp", "test.ac.jp"), ("kyoto.jp", nil),
        ("test.kyoto.jp", "test.kyoto.jp"), ("ide.kyoto.jp", nil),
        ("b.ide.kyoto.jp", "b.ide.kyoto.jp"), ("a.b.ide.kyoto.jp", "b.ide.kyoto.jp"),
        ("kobe.jp", "kobe.jp"), ("c.kobe.jp", nil), ("b.c.kobe.jp", "b.c.kobe.jp"),
        ("a.b.c.kobe.jp", "b.c.kobe.jp"), ("city.kobe.jp", "city.kobe.jp"),
        ("www.city.kobe.jp", "city.kobe.jp"),
        // A wildcard at the top, and an exception to it.
        ("ck", nil), ("test.ck", nil), ("b.test.ck", "b.test.ck"), ("a.b.test.ck", "b.test.ck"),
        ("www.ck", "www.ck"), ("www.www.ck", "www.ck"),
        // Three labels.
        ("us", nil), ("test.us", "test.us"), ("www.test.us", "test.us"), ("ak.us", nil),
        ("test.ak.us", "test.ak.us"), ("www.test.ak.us", "test.ak.us"), ("k12.ak.us", nil),
        ("test.k12.ak.us", "test.k12.ak.us"), ("www.test.k12.ak.us", "test.k12.ak.us"),
        // Names beyond ASCII, as they are read and as they are sent.
        ("食狮.com.cn", "xn--85x722f.com.cn"), ("食狮.公司.cn", "xn--85x722f.xn--55qx5d.cn"),
        ("www.食狮.公司.cn", "xn--85x722f.xn--55qx5d.cn"),
        ("shishi.公司.cn", "shishi.xn--55qx5d.cn"), ("公司.cn", nil),
        ("食狮.中国", "xn--85x722f.xn--fiqs8s"), ("www.食狮.中国", "xn--85x722f.xn--fiqs8s"),
        ("shishi.中国", "shishi.xn--fiqs8s"), ("中国", nil),
        ("xn--85x722f.com.cn", "xn--85x722f.com.cn"),
        ("xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        ("www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        ("shishi.xn--55qx5d.cn", "shishi.xn--55qx5d.cn"), ("xn--55qx5d.cn", nil),
        ("xn--85x722f.xn--fiqs8s", "xn--85x722f.xn--fiqs8s"),
        ("www.xn--85x722f.xn--fiqs8s", "xn--85x722f.xn--fiqs8s"),
        ("shishi.xn--fiqs8s", "shishi.xn--fiqs8s"), ("xn--fiqs8s", nil),
        // Addresses belong to nobody's name.
        ("10.0.0.1", nil), ("[::1]", nil),
    ]

    @Test("The registrable domain is one label more than the suffix")
    func registrableDomains() {
        let list = PublicSuffixes(parsing: Self.rules)
        for (host, registrable) in Self.cases {
            #expect(list.registrableDomain(of: host) == registrable, "\(host)")
        }
    }

    @Test("Without a list there is no registrable domain")
    func noList() {
        #expect(PublicSuffixes.standard.registrableDomain(of: "www.example.com") == nil)
    }

    @Test("An exception decides over every other rule, a longer one included")
    func exceptions() {
        let list = PublicSuffixes(parsing: "*.ck\n!www.ck\nlong.www.ck\n!top")
        #expect(list.registrableDomain(of: "a.long.www.ck") == "www.ck")
        #expect(!list.contains("long.www.ck"))
        #expect(list.contains("top"))
    }

    @Test(
        "The whole list of this machine passes the cases too",
        .needs(
            "the package publicsuffix", if: FileManager.default.fileExists(atPath: Self.installed)))
    func installedList() throws {
        let list = try PublicSuffixes(contentsOf: URL(filePath: Self.installed))
        for (host, registrable) in Self.cases {
            #expect(list.registrableDomain(of: host) == registrable, "\(host)")
        }
    }

    private static let installed = "/usr/share/publicsuffix/public_suffix_list.dat"
}
