// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import TurnpikeCore

// SAFETY: a loaded library never changes and is never unloaded.
@safe struct CurlLibrary: @unchecked Sendable {
    let pointer: OpaquePointer

    /// The version as 0xMMmmpp.
    var version: UInt32 { unsafe tpc_version(pointer) }
    /// The version and the TLS library, for messages.
    let name: String
    let hasTLS: Bool
    let hasGnuTLS: Bool
    let hasHTTP2: Bool
    let hasUnixSockets: Bool
    let isHTTP2Sound: Bool
    var isHandleReuseSound: Bool { Self.isHandleReuseSound(version: version) }

    private init(_ pointer: OpaquePointer) {
        unsafe self.pointer = pointer
        let features = unsafe Int(tpc_features(pointer))
        func has(_ feature: Int) -> Bool { features & feature != 0 }
        name =
            unsafe "libcurl \(String(cString: tpc_version_text(pointer)))"
            + " \(String(cString: tpc_tls_text(pointer)))"
        hasTLS = has(TPC_HAS_TLS)
        hasGnuTLS = name.contains(" GnuTLS/")
        hasHTTP2 = has(TPC_HAS_HTTP2)
        hasUnixSockets = has(TPC_HAS_UNIX_SOCKETS)
        isHTTP2Sound =
            unsafe hasHTTP2
            && Self.isHTTP2Sound(
                version: tpc_version(pointer), tellsHTTP2: tpc_has_openssl(pointer))
    }

    // MARK: Loading

    // Debian's GnuTLS library can be loaded beside the usual library, because names and symbol
    // versions differ.
    #if canImport(Darwin)
    private static let names = ["/usr/lib/libcurl.4.dylib", "libcurl.4.dylib"]
    #elseif LinkedLibcurl
    private static let names = ["linked"]
    #else
    private static let names = ["libcurl.so.4", "libcurl-gnutls.so.4"]
    #endif

    #if LinkedLibcurl
    private static let remedy = "link the program with such a libcurl"
    #else
    private static let remedy =
        "install libcurl3-gnutls from the backports of Debian 12, or libcurl3t64-gnutls of Debian 13"
    #endif

    private static let shared = found(names)

    // The version is the oldest that was tested with HTTP/3.
    private static let http3 = found(names, oldest: 0x08_0E01, features: TPC_HAS_HTTP3)
        .mapError { error in
            ClientError(
                .unsupported,
                "http3 needs libcurl 8.14.1 or later with HTTP/3 by ngtcp2: \(remedy), or set"
                    + " http3 to \"off\"", underlying: error)
        }

    private static func found(
        _ names: [String], oldest: UInt32 = UInt32(TPC_OLDEST), features: Int = 0
    ) -> Result<CurlLibrary, ClientError> {
        var reasons: [String] = []
        for name in names {
            if let library = unsafe tpc_load(name, oldest, Int32(features)) {
                return unsafe .success(CurlLibrary(library))
            }
            reasons.append(unsafe String(cString: tpc_load_reason()))
        }
        return .failure(
            ClientError(
                .unsupported,
                "the curl transport needs libcurl 7.80 or later: "
                    + reasons.joined(separator: "; ")))
    }

    // Returns the reason why a library cannot be loaded, for tests. Nil means the usual files.
    static func fault(
        loading file: String?, oldest: UInt32 = UInt32(TPC_OLDEST)
    ) -> ClientError? {
        switch found(file.map { [$0] } ?? names, oldest: oldest) {
        case .success: nil
        case .failure(let error): error
        }
    }

    /// Loads the library, once in a process.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/unsupported`` if libcurl is missing or too old.
    static func load() throws -> CurlLibrary { try shared.get() }

    /// Loads the usual library, or Debian's library with GnuTLS if the usual library has no HTTP/3.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/unsupported`` if neither library has HTTP/3.
    static func loadHTTP3() throws -> CurlLibrary { try http3.get() }

    /// The version of the loaded library as 0xMMmmpp, or 0.
    static var foundVersion: UInt32 { (try? load().version) ?? 0 }

    // MARK: Versions

    // The condition follows from the measurements in <doc:HTTP2OverLibcurl>.
    static func isHTTP2Sound(version: UInt32, tellsHTTP2: Bool) -> Bool {
        version >= 0x08_0E01 && tellsHTTP2
    }

    // libcurl 7.84 to 8.0 append a folded line to the handle's last field, even if this field
    // belongs to an earlier response and is freed.
    static func isHandleReuseSound(version: UInt32) -> Bool {
        !(0x07_5400..<0x08_0100).contains(version)
    }

    func unsupported(_ what: String) -> ClientError {
        ClientError(.unsupported, "\(name) does not support this: \(what)")
    }
}
