// SPDX-License-Identifier: Apache-2.0

import CTurnpikeValkey
import TurnpikeCore

// SAFETY: the pointer is valid until `deinit`. OpenSSL counts the users of a context, and locks the
// context.
@safe final class TLSContext: @unchecked Sendable {
    private let pointer: UnsafeMutableRawPointer
    private static let fault = load(nil)

    /// Loads the certificates of a file or of the system.
    ///
    /// Throws ``/TurnpikeCore/ClientError/Code/unsupported`` without OpenSSL. Tests load another
    /// library.
    init(authorities: String?, loading file: String? = nil) throws {
        if let reason = file.map(Self.load) ?? Self.fault {
            throw ClientError(
                .unsupported,
                "rediss:// needs OpenSSL 1.1 or 3: \(reason); install it (on Debian libssl3), or"
                    + " write redis://")
        }
        guard let pointer = unsafe tpv_tls_context_create(authorities) else {
            let what = authorities.map { "the file \($0)" } ?? "the system's list"
            throw ClientError(
                .configuration,
                "\(what) of certificate authorities cannot be read; name a PEM file in"
                    + " certificateAuthorities")
        }
        unsafe self.pointer = pointer
    }

    deinit { unsafe tpv_tls_context_free(pointer) }

    /// - Returns: The reason why the library cannot be used, or nil.
    private static func load(_ file: String?) -> String? {
        unsafe tpv_tls_load(file).map { unsafe String(cString: $0) }
    }

    func channel(_ fd: Int32, host: String) -> TLSChannel? {
        unsafe tpv_tls_create(pointer, fd, host).map { unsafe TLSChannel($0, self) }
    }
}

// SAFETY: the pointer is valid until `deinit`. The class is not `Sendable`, because only the
// engine's thread uses it.
@safe final class TLSChannel {
    enum Progress { case done, wantsRead, wantsWrite, failed(String) }

    private let pointer: UnsafeMutableRawPointer
    private let context: TLSContext

    init(_ pointer: UnsafeMutableRawPointer, _ context: TLSContext) {
        unsafe self.pointer = pointer
        self.context = context
    }

    deinit { unsafe tpv_tls_free(pointer) }

    func handshake() -> Progress {
        switch Int(unsafe tpv_tls_handshake(pointer)) {
        case TPV_TLS_DONE: .done
        case TPV_TLS_WANTS_READ: .wantsRead
        case TPV_TLS_WANTS_WRITE: .wantsWrite
        default: .failed(unsafe String(cString: tpv_tls_fault()))
        }
    }

    func send(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int64 {
        unsafe tpv_tls_send(pointer, bytes, count)
    }

    func receive(_ bytes: UnsafeMutablePointer<UInt8>?, _ capacity: Int) -> Int64 {
        unsafe tpv_tls_receive(pointer, bytes, capacity)
    }
}
