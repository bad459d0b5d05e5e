// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import TurnpikeCore

/// The libcurl of this system, loaded on first use.
struct CurlLibrary: Sendable {
    /// The version as 0xMMmmpp.
    let version: UInt32
    /// The version and the TLS library, for messages.
    let name: String
    let hasTLS: Bool
    let hasHTTP2: Bool
    /// Whether this libcurl loses no response over HTTP/2.
    var isHTTP2Sound: Bool {
        hasHTTP2 && Self.isHTTP2Sound(version: version, tellsHTTP2: tellsHTTP2)
    }
    /// Whether a handle can receive a second response.
    var isHandleReuseSound: Bool { Self.isHandleReuseSound(version: version) }
    /// Whether the HTTP version of a connection can be found out.
    ///
    /// This needs a libcurl with OpenSSL.
    private let tellsHTTP2: Bool
    let hasUnixSockets: Bool

    private static let shared: Result<CurlLibrary, ClientError> = {
        if let fault = fault(loading: nil) { return .failure(fault) }
        let features = Int(tpc_features())
        func has(_ feature: Int) -> Bool { features & feature != 0 }
        return .success(
            CurlLibrary(
                version: tpc_version(),
                name: unsafe "libcurl \(String(cString: tpc_version_text()))"
                    + " \(String(cString: tpc_tls_text()))",
                hasTLS: has(TPC_HAS_TLS), hasHTTP2: has(TPC_HAS_HTTP2),
                tellsHTTP2: tpc_tells_http2(),
                hasUnixSockets: has(TPC_HAS_UNIX_SOCKETS)))
    }()

    /// Loads the library from a file; nil means the usual files.
    ///
    /// Only tests pass a file. After a success, the function must not be called again.
    /// - Returns: ``/TurnpikeCore/ClientError/Code/unsupported`` if there is no library, or if it is
    ///   too old or lacks a function.
    static func fault(
        loading file: String?, oldest: UInt32 = UInt32(TPC_OLDEST)
    ) -> ClientError? {
        guard let reason = unsafe tpc_load(file, oldest) else { return nil }
        return ClientError(
            .unsupported,
            "the curl transport needs libcurl 7.80 or later: \(unsafe String(cString: reason))")
    }

    /// Loads the library, once in a process.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/unsupported`` if there is none or it is too old.
    static func load() throws -> CurlLibrary { try shared.get() }

    /// The version of the loaded library as 0xMMmmpp, or 0.
    static var foundVersion: UInt32 { tpc_version() }

    // See the figures in <doc:HTTP2OverLibcurl>.
    static func isHTTP2Sound(version: UInt32, tellsHTTP2: Bool) -> Bool {
        version >= 0x08_0E01 && tellsHTTP2
    }

    // 7.84 to 8.0 append a folded line to the last field that the handle has received, even if that
    // field belongs to an earlier response and is freed. The module's page has the figures.
    static func isHandleReuseSound(version: UInt32) -> Bool {
        !(0x07_5400..<0x08_0100).contains(version)
    }

    /// Returns libcurl's text for one of its codes.
    static func text(of code: Int32) -> String { unsafe String(cString: tpc_error_text(code)) }

    /// Returns the error for a feature that this libcurl lacks.
    func unsupported(_ what: String) -> ClientError {
        ClientError(.unsupported, "\(name) cannot do this: \(what)")
    }
}
