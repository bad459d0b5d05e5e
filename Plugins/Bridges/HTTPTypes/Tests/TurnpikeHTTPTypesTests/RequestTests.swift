// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Testing
import Turnpike
import TurnpikeHTTPTypes

@Suite("Requests")
struct RequestTests {
    struct Parts: Sendable, CustomTestStringConvertible {
        var method = "GET"
        var scheme: String? = "https"
        var authority: String? = "example.com"
        var path: String? = "/"

        var request: HTTPRequest? {
            HTTPRequest.Method(method).map {
                HTTPRequest(method: $0, scheme: scheme, authority: authority, path: path)
            }
        }
        var testDescription: String {
            "\(method) \(scheme ?? "-") \(authority ?? "-") \(path ?? "-")"
        }
    }

    @Test(
        "Are the same after both conversions",
        arguments: [
            Parts(), Parts(method: "PURGE"), Parts(method: "get"), Parts(scheme: "http"),
            Parts(authority: "example.com:8443"), Parts(authority: "Example.COM:443"),
            Parts(authority: "[2001:db8::1]:80"), Parts(path: "/a//b/"), Parts(path: "//a"),
            Parts(path: "/?"), Parts(path: "/a?q=1&q=2%20&r=a|b"), Parts(path: "/%2e%2E/%00"),
            Parts(method: "OPTIONS", path: "*"), Parts(method: "OPTIONS", path: "/"),
        ])
    func kept(_ parts: Parts) throws {
        let request = try #require(parts.request)
        do {
            let back = try HTTPRequest(Request(request))
            #expect(back == request)
            #expect(back.authority == parts.authority)
        } catch let error as ClientError where parts.path?.contains("|") == true {
            // The URL parser decides whether the character must be escaped.
            #expect(error.code == .invalidRequest)
        }
    }

    @Test(
        "Are refused if they would be sent in another form",
        arguments: [
            Parts(scheme: "ftp"), Parts(scheme: nil), Parts(authority: nil), Parts(authority: ""),
            Parts(authority: "user:SECRET@example.com"), Parts(authority: "example.com/SECRET"),
            Parts(authority: "example.com:99999"), Parts(authority: "bücher.example"),
            Parts(authority: "example.com?SECRET"), Parts(authority: "[::1"), Parts(path: nil),
            Parts(path: ""), Parts(path: "*"), Parts(path: "SECRET"), Parts(path: "/a#SECRET"),
            Parts(path: "/a/../SECRET"), Parts(path: "/./SECRET"), Parts(path: "/SECRET a"),
            Parts(path: "/ü?SECRET"), Parts(path: "/%SECRET"), Parts(path: "https://h/SECRET"),
            Parts(scheme: nil, authority: nil, path: "/../SECRET"),
            Parts(scheme: nil, authority: nil, path: "?SECRET"),
        ])
    func refused(_ parts: Parts) throws {
        let request = try #require(parts.request)
        let error = try #require(throws: ClientError.self) { try Request(request) }
        #expect(error.code == .invalidRequest)
        #expect(!"\(error)".contains("SECRET"))
    }

    @Test("Open no tunnel")
    func tunnel() throws {
        let connect = HTTPRequest(
            method: .connect, scheme: nil, authority: "example.com:443", path: nil)
        #expect(throws: ClientError.self) { try Request(connect) }
        var webSocket = HTTPRequest(
            method: .connect, scheme: "https", authority: "example.com", path: "/chat")
        webSocket.extendedConnectProtocol = "websocket"
        let error = try #require(throws: ClientError.self) { try Request(webSocket) }
        #expect(error.code == .unsupported)
        #expect(error.message.contains("websocket"))
        let ours = Request(.connect, "https://example.com/")
        #expect(throws: ClientError.self) { try HTTPRequest(ours) }
    }

    @Test("Take the authority from Host if they have no other")
    func host() throws {
        var request = HTTPRequest(method: .get, scheme: "http", authority: nil, path: "/a")
        request.headerFields = [.init("Host") ?? .accept: "example.com:8080"]
        let ours = try Request(request)
        #expect(ours.url.absoluteString == "http://example.com:8080/a")
        #expect(ours.fault == nil)
        let back = try HTTPRequest(ours)
        #expect(back.authority == "example.com:8080")
        #expect(back.headerFields == request.headerFields)

        request.authority = "other.example"
        // The call fails, because the correct authority is unclear.
        #expect(try Request(request).fault?.contains("Host") == true)
    }

    @Test("Are not converted if the URL is invalid, relative, or has a credential")
    func ours() {
        for target: Target in ["users/1", "https://u:SECRET@example.com/", "https://exa mple/"] {
            let error = #expect(throws: ClientError.self) { try HTTPRequest(Request(target)) }
            #expect(error.map { "\($0)".contains("SECRET") } == false)
        }
        let method = Request(HTTPMethod("BAD METHOD"), "https://example.com/")
        #expect(throws: ClientError.self) { try HTTPRequest(method) }
    }

    @Test("Have no path * unless they ask the server")
    func server() throws {
        #expect(try HTTPRequest(Request("https://example.com")).path == "/")
        #expect(try HTTPRequest(Request(.options, "https://example.com")).path == "*")
        #expect(try HTTPRequest(Request(.options, "https://example.com?q")).path == "/?q")
    }
}

extension Request {
    fileprivate init(_ target: Target) { self.init(.get, target) }
}
