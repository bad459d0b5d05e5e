import CTurnpikeCurl
import TurnpikeCore
import TurnpikeSupport

/// The libcurl of this machine, found when it is first needed.
struct CurlLibrary: Sendable {
    /// As 0xMMmmpp.
    let version: UInt32
    /// The version and the TLS library, for messages.
    let name: String
    let hasTLS: Bool
    let hasHTTP2: Bool
    /// Whether HTTP/2 loses no answer.
    var isHTTP2Sound: Bool {
        hasHTTP2 && Self.isHTTP2Sound(version: version, tellsHTTP2: tellsHTTP2)
    }
    /// Whether it can be told which connections carry HTTP/2: where libcurl uses OpenSSL.
    private let tellsHTTP2: Bool
    let hasUnixSockets: Bool
    /// Whether content can be decoded.
    let hasZlib: Bool

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
                hasUnixSockets: has(TPC_HAS_UNIX_SOCKETS), hasZlib: Zlib.isThere))
    }()

    /// Loads the library from a file, nil for the usual places.
    ///
    /// For tests of what fails; once it has succeeded it must not be called any more.
    /// - Returns: ``/TurnpikeCore/ClientError/Code/unsupported`` where there is none, one that
    ///   lacks a function, or an old one.
    static func fault(
        loading file: String?, oldest: UInt32 = UInt32(TPC_OLDEST)
    ) -> ClientError? {
        guard let reason = unsafe tpc_load(file, oldest) else { return nil }
        return ClientError(
            .unsupported,
            "the curl transport needs libcurl 7.80 or later: \(unsafe String(cString: reason))")
    }

    /// Finds the library, once in a process.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/unsupported`` where there is none, or an old one.
    static func load() throws -> CurlLibrary { try shared.get() }

    /// The version that was found, as 0xMMmmpp; 0 for none.
    static var foundVersion: UInt32 { tpc_version() }

    // By the figures in <doc:HTTP2OverLibcurl>.
    static func isHTTP2Sound(version: UInt32, tellsHTTP2: Bool) -> Bool {
        version >= 0x08_0E01 && tellsHTTP2
    }

    /// libcurl's text for one of its codes.
    static func text(of code: Int32) -> String { unsafe String(cString: tpc_error_text(code)) }

    /// The error for what this libcurl cannot do.
    func unsupported(_ what: String) -> ClientError {
        ClientError(.unsupported, "\(name) cannot do this: \(what)")
    }
}
