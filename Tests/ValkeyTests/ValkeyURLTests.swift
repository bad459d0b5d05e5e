// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike

@testable import TurnpikeValkey

@Suite("The URL of a server")
struct ValkeyURLTests {
    struct Case: CustomTestStringConvertible {
        let url: String
        let hosts: String
        var user: String?
        var password: String?
        var database = 0
        var isSecure = false
        var testDescription: String { url }
    }

    @Test(
        "What a URL says is read",
        arguments: [
            Case(url: "redis://host", hosts: "host:6379"),
            Case(url: "redis://host/", hosts: "host:6379"),
            Case(url: "valkey://host:1/3", hosts: "host:1", database: 3),
            Case(url: "REDISS://host", hosts: "host:6379", isSecure: true),
            Case(url: "redis://:a%40b%3Ac%2F@h:2", hosts: "h:2", password: "a@b:c/"),
            Case(url: "redis://user:p:w@h", hosts: "h:6379", user: "user", password: "p:w"),
            Case(url: "redis://user:p@w@h", hosts: "h:6379", user: "user", password: "p@w"),
            Case(url: "redis://:@h", hosts: "h:6379"),
            Case(url: "redis://[::1]:7", hosts: "[::1]:7"),
            Case(url: "redis://[fe80::1]", hosts: "[fe80::1]:6379"),
            Case(url: "redis://a:1,b,[::2]:3/0", hosts: "a:1,b:6379,[::2]:3"),
            Case(url: "unix:///run/redis%20a.sock", hosts: "/run/redis a.sock"),
            Case(url: "unix:///run/redis.sock?db=4", hosts: "/run/redis.sock", database: 4),
        ])
    func legal(_ test: Case) throws {
        let url = try ValkeyURL(test.url)
        #expect(url.addresses.map(\.description).joined(separator: ",") == test.hosts)
        #expect(url.credentials?.user == test.user)
        #expect(url.credentials?.password == test.password)
        #expect(url.database == test.database)
        #expect(url.isSecure == test.isSecure)
    }

    @Test(
        "A wrong URL is refused with what to write, and without the password",
        arguments: [
            ("host:6379", "needs a scheme"), ("http://host", "scheme must be redis"),
            ("redis://", "a host is missing"), ("redis://hunter2@host", "after a colon"),
            ("redis://user:@host", "a user needs a password"),
            ("redis://:hunter2@host:0", "a port is a number"),
            ("redis://:hunter2@host:65536", "a port is a number"),
            ("redis://:hunter2@host:x", "a port is a number"),
            ("redis://:hunter2@host/x", "the number of a database"),
            ("redis://:hunter2@host/-1", "the number of a database"),
            ("redis://:hunter2@host/99999999999", "the number of a database"),
            ("redis://:hunter2%@host", "broken percent-encoding"),
            ("redis://:hunter2%zz@host", "broken percent-encoding"),
            ("redis://:hunter2@host?db=1", "has a query"),
            ("redis://:hunter2@::1", "in brackets"), ("redis://:hunter2@[::1", "in brackets"),
            ("redis://:hunter2@[::1]x", "in brackets"),
            ("redis://:hunter2@a,,b", "a host is missing"),
            ("redis://:hunter2@a b", "a host is missing"), ("unix://run", "begins with a slash"),
            ("unix:///run?x=1", "may be only db="),
            (
                "redis://:hunter2@" + Array(repeating: "a", count: 65).joined(separator: ","),
                "more than 64"
            ),
        ])
    func illegal(url: String, advice: String) {
        let error = #expect(throws: ClientError.self) { try ValkeyServer(url: url) }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains(advice) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("hunter2") == false)
    }

    @Test("Nothing prints the password")
    func secrecy() throws {
        let server = try ValkeyServer(url: "redis://user:hunter2@127.0.0.1:1/0")
        var text = "\(server) \(String(reflecting: server)) \(server.engine.url)"
        dump(server, to: &text)
        dump(server.engine.url, to: &text)
        dump(server.engine.url.credentials, to: &text)
        dump(ValkeyCommand("AUTH", "hunter2"), to: &text)
        dump(ValkeyValue.array([.bytes(Data("hunter2".utf8))]), to: &text)
        #expect(!text.contains("hunter2"))
        #expect(text.contains("redis://user:REDACTED@127.0.0.1:1/0"))
    }
}
