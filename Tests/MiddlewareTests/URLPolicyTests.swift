// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// Knows some names and no others.
private struct TableResolver: HostResolver {
    var table: [String: [String]] = [:]

    func addresses(of name: String, context: Context) throws -> [IPAddress] {
        guard let addresses = table[name] else {
            throw ClientError(.dns, "no such name", transfer: TransferState(.connecting))
        }
        return addresses.compactMap { IPAddress($0) }
    }
}

@Suite("URLPolicy")
struct URLPolicyTests {
    private let transport = MockTransport(recordLimit: 0) { _ in .ok() }

    private func outcome(_ policy: URLPolicy, _ url: String) async -> ClientError.Code? {
        await code(of: Client(transport, [policy]).get(Target(url)))
    }

    @Test(
        "A pattern that can match nothing fails all calls, instead of denying nothing",
        arguments: [
            "http://evil.example", "evil.example:80", "büro.example", "*.", "*", "*.*.example", "",
        ])
    func unusable(pattern: HostPattern) async {
        for policy in [
            URLPolicy(deniedHosts: ["b.example", pattern]), URLPolicy(allowedHosts: [pattern]),
        ] {
            #expect(await outcome(policy, "http://evil.example/") == .configuration)
        }
    }

    @Test(
        "Private addresses are refused in every spelling",
        arguments: [
            "127.0.0.1", "127.1", "127.0.1", "0", "0.0.0.0", "2130706433", "0x7f000001", "0x7f.1",
            "0177.0.0.1", "0177.1", "017700000001", "127.0.0.1.", "10.0.0.1", "10.1", "172.16.0.1",
            "172.31.255.255", "192.168.0.1", "192.168.257", "169.254.169.254", "2852039166",
            "0xa9fea9fe", "0251.0376.0251.0376", "100.64.0.1", "100.100.100.200", "198.18.0.1",
            "192.0.0.192", "192.0.2.1", "224.0.0.1", "255.255.255.255", "168.63.129.16",
            "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[::127.0.0.1]", "[::ffff:127.0.0.1]",
            "[::ffff:a9fe:a9fe]", "[0:0:0:0:0:FFFF:169.254.169.254]", "[64:ff9b::10.0.0.1]",
            "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2002:a00:1::1]", "[fe80::1]", "[fec0::1]",
            "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[2001:db8::1]", "[2001::1]",
            "[3fff::1]", "[100::1]", "[2606:4700::5efe:10.0.0.1]",
        ])
    func privateSpellings(host: String) async throws {
        let policy = URLPolicy(denyPrivate: .always, resolver: nil)
        #expect(await outcome(policy, "http://\(host)/x") == .urlPolicy)
        #expect(transport.sentCount == 0)
    }

    @Test(
        "Hosts that URL parsers may rewrite never lead to private addresses",
        arguments: [
            "１２７.０.０.１", "127。0。0。1", "127．0．0．1", "①②⑦.⓪.⓪.①", "ｌｏｃａｌｈｏｓｔ", "loc\u{AD}alhost",
            "%31%32%37.0.0.1", "127%2e0.0.1", "%6cocalhost", "[fe80::1%25eth0]",
            "127.0.0.1%00.a.example",
            "0x7f.0.0.0.1", "1.2.3.4.5", "256.256.256.256", "08.8.8.8", "4294967297",
            "a.example.0x7f",
        ])
    func folded(host: String) async throws {
        let policy = URLPolicy(denyPrivate: .always, resolver: nil)
        let result = await outcome(policy, "http://\(host)/x")
        #expect(result == .urlPolicy || result == .invalidRequest)
        #expect(transport.sentCount == 0)
        switch HostName(host) {
        case .address(let address): #expect(!address.isPublic)
        case .name(let name): #expect(HostName.isLocal(name))
        case .unclear: break
        }
    }

    @Test(
        "Public addresses pass",
        arguments: [
            "8.8.8.8", "0x08080808", "134744072", "010.8.8.8", "1.1", "172.15.0.1", "172.32.0.1",
            "100.63.0.1", "100.128.0.1", "192.167.0.1", "169.253.0.1", "223.255.255.255",
            "[2606:4700::1111]", "[::ffff:8.8.8.8]", "[64:ff9b::808:808]", "[2002:808:808::1]",
            "[2001:200::1]",
        ])
    func publicSpellings(host: String) async throws {
        let policy = URLPolicy(denyPrivate: .always, resolver: nil)
        #expect(await outcome(policy, "http://\(host)/x") == nil)
    }

    @Test(
        "Local names are refused without resolving them",
        arguments: [
            "localhost", "LOCALHOST", "localhost.", "a.localhost", "intranet", "printer.local",
            "metadata.google.internal", "router.home.arpa", "nas.lan", "host.localdomain",
        ])
    func localNames(name: String) async throws {
        let policy = URLPolicy(
            denyPrivate: .always, resolver: TableResolver(table: [name: ["8.8.8.8"]]))
        #expect(await outcome(policy, "http://\(name)/x") == .urlPolicy)
    }

    @Test("A name is refused if one of its addresses is private")
    func resolved() async throws {
        let policy = URLPolicy(
            denyPrivate: .always,
            resolver: TableResolver(table: [
                "good.example": ["8.8.8.8", "2606:4700::1"],
                "mixed.example": ["8.8.8.8", "10.0.0.1"],
                "loop.example": ["::ffff:127.0.0.1"],
            ]))
        #expect(await outcome(policy, "http://good.example/x") == nil)
        #expect(await outcome(policy, "http://GOOD.example./x") == nil)
        #expect(await outcome(policy, "http://mixed.example/x") == .urlPolicy)
        #expect(await outcome(policy, "http://loop.example/x") == .urlPolicy)
        #expect(await outcome(policy, "http://none.example/x") == .dns)
    }

    @Test("Without the guard, private addresses pass")
    func never() async throws {
        #expect(await outcome(URLPolicy(), "http://127.0.0.1/x") == nil)
    }

    @Test("Schemes, allowed and denied hosts")
    func lists() async throws {
        let policy = URLPolicy(
            schemes: ["https"], allowedHosts: ["api.example", "*.cdn.example", "192.0.2.1"],
            deniedHosts: ["bad.cdn.example"])
        #expect(await outcome(policy, "http://api.example/") == .urlPolicy)
        #expect(await outcome(policy, "https://API.example./") == nil)
        #expect(await outcome(policy, "https://x.api.example/") == .urlPolicy)
        #expect(await outcome(policy, "https://a.b.cdn.example/") == nil)
        #expect(await outcome(policy, "https://cdn.example/") == .urlPolicy)
        #expect(await outcome(policy, "https://evilcdn.example/") == .urlPolicy)
        #expect(await outcome(policy, "https://bad.cdn.example/") == .urlPolicy)
        #expect(await outcome(policy, "https://3221225985/") == nil)
    }

    @Test("With onRedirect the caller's own URL may be private, but not a hop")
    func onRedirect() async throws {
        let transport = MockTransport { request in
            request.url.path() == "/x"
                ? .status(302, headers: ["Location": "http://127.1/y"]) : .ok()
        }
        let client = Client(transport, [.redirect(), .urlPolicy(denyPrivate: .onRedirect)])
        #expect(await code(of: client.get("http://127.0.0.1/x")) == .urlPolicy)
        #expect(await code(of: client.get("http://127.0.0.1/y")) == nil)
        #expect(transport.sentCount == 2)
    }

    @Test("Any spelling of a private address is refused, of a public one allowed")
    func spellingLaw() async throws {
        let client = Client(transport, [.urlPolicy(denyPrivate: .always, resolver: nil)])
        try await forAllSeeds { generator in
            let isPrivate = generator.bool()
            let bits = isPrivate ? generator.privateV4() : generator.publicV4()
            let host = generator.spelling(of: bits)
            let before = transport.sentCount
            _ = await code(of: client.get(Target("http://\(host)/")))
            let wasSent = transport.sentCount > before
            // A transport may refuse what a policy allows; the policy must not be the one.
            let isClearlyPublic = IPAddress(host)?.isPublic ?? false
            if isPrivate, wasSent || isClearlyPublic { return "\(host) was let through" }
            if !isPrivate, !wasSent { return "\(host) was refused" }
            return nil
        }
    }

    @Test("A text that is not an address does not trap and is not public")
    func noise() async throws {
        let pieces = ["0x", "127", ".", ":", "::", "ffff", "[", "]", "%", "%2e", "1", "08", "a"]
        try await forAllSeeds { generator in
            let text = generator.noise(pieces)
            _ = HostName(text)
            _ = HostPattern(text).matches(text)
            if let address = IPAddress(text), IPAddress(address.description) != address {
                return "\(text) became \(address)"
            }
            return nil
        }
    }
}

extension SeededGenerator {
    fileprivate mutating func privateV4() -> UInt32 {
        let (base, bits): (UInt32, UInt32) = pick([
            (0x0A00_0000, 24), (0x7F00_0000, 24), (0xA9FE_0000, 16), (0xAC10_0000, 20),
            (0xC0A8_0000, 16), (0x6440_0000, 22), (0, 24), (0xE000_0000, 28), (0xF000_0000, 28),
            (0xC612_0000, 17),
        ])
        return base | UInt32.random(in: 0..<1 << bits, using: &self)
    }

    fileprivate mutating func publicV4() -> UInt32 {
        let first: UInt32 = pick([1, 8, 9, 11, 23, 52, 101, 126, 128, 151, 191, 193, 208, 223])
        return first << 24 | UInt32.random(in: 0..<1 << 24, using: &self)
    }

    private mutating func number(_ value: UInt32) -> String {
        switch int(0...4) {
        case 0: "0" + String(value, radix: 8)
        case 1: "0x" + String(value, radix: 16)
        case 2:
            "0X" + String(repeating: "0", count: int(0...3)) + String(value, radix: 16).uppercased()
        default: String(value)
        }
    }

    fileprivate mutating func spelling(of bits: UInt32) -> String {
        let high = String(bits >> 16, radix: 16)
        let low = String(bits & 0xFFFF, radix: 16)
        let dotted = [24, 16, 8, 0].map { String(bits >> UInt32($0) & 0xFF) }.joined(separator: ".")
        switch int(0...9) {
        case 0: return "[::ffff:\(dotted)]"
        case 1: return "[::ffff:\(high):\(low)]"
        case 2: return "[0:0:0:0:0:FFFF:\(high):\(low)]"
        case 3: return "[64:ff9b::\(high):\(low)]"
        case 4: return "[2002:\(high):\(low)::\(int(1...9999))]"
        default: break
        }
        let parts = UInt32(int(1...4))
        var text = (1..<parts).map { number(bits >> (32 - 8 * $0) & 0xFF) + "." }.joined()
        text += number(parts == 1 ? bits : bits & (0xFFFF_FFFF >> (8 * (parts - 1))))
        return text + (int(0...4) == 0 ? "." : "")
    }
}
