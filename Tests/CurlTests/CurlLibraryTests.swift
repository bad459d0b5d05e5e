// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike

@testable import TurnpikeCurl

@Suite("Finding libcurl")
struct CurlLibraryTests {
    private func expectUnsupported(_ error: ClientError?, _ reason: String) {
        #expect(error?.code == .unsupported)
        let message = error?.message ?? ""
        #expect(message.hasPrefix("the curl transport needs libcurl 7.80 or later: "))
        #expect(message.contains(reason), "\(message)")
    }

    @Test("Where there is none, that is said")
    func missing() {
        expectUnsupported(
            CurlLibrary.fault(loading: "/nonexistent/libcurl.so.4"),
            "there is no /nonexistent/libcurl.so.4")
    }

    @Test(
        "HTTP/2 is used by itself from the oldest version that lost nothing",
        arguments: [
            (0x07_5801, true, false), (0x08_0E00, true, false), (0x08_0E01, true, true),
            (0x08_1700, true, true), (0x08_1700, false, false),
        ])
    func soundness(version: UInt32, tellsHTTP2: Bool, isSound: Bool) {
        #expect(
            CurlLibrary.isHTTP2Sound(version: version, tellsHTTP2: tellsHTTP2) == isSound)
    }

    @Test(
        "A handle takes a second response, but in the versions that would write to freed memory",
        arguments: [
            (0x07_5000, true), (0x07_5301, true), (0x07_5400, false), (0x07_5801, false),
            (0x08_0001, false), (0x08_0100, true), (0x08_0E01, true),
        ])
    func handles(version: UInt32, isSound: Bool) {
        #expect(CurlLibrary.isHandleReuseSound(version: version) == isSound)
    }

    @Test("An old one is refused, and so is what is another library")
    func others() throws {
        // The one that is here, seen from a later time.
        expectUnsupported(
            CurlLibrary.fault(loading: nil, oldest: 0x7F_0100), "is older than 127.1")
        #if LinkedLibcurl
        // A linked program loads no second library.
        expectUnsupported(CurlLibrary.fault(loading: "libcurl.so.4"), "there is no libcurl.so.4")
        #elseif os(Linux)
        expectUnsupported(
            CurlLibrary.fault(loading: "libc.so.6"), "libcurl has no curl_global_init")
        #endif
        _ = try CurlTransport()
    }
}
