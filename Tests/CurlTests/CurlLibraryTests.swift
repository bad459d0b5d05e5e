import Foundation
import Testing
import Turnpike
import TurnpikeCurl

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

    @Test("An old one is refused, and so is what is another library")
    func others() throws {
        // The one that is here, seen from a later time.
        expectUnsupported(
            CurlLibrary.fault(loading: nil, oldest: 0x7F_0100), "is older than 127.1")
        #if os(Linux)
        expectUnsupported(
            CurlLibrary.fault(loading: "libc.so.6"), "libcurl has no curl_global_init")
        #endif
        _ = try CurlTransport()
    }
}
