// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The PEM files of a trust, which are read once, and again after a replacement.
///
/// libcurl gets the content of the files, with authorities as an ``AuthorityFile`` and other files
/// as bytes. libcurl identifies TLS sessions and connections by this content, and reuses none for
/// other content.
final class TrustFiles: Sendable {
    // SAFETY: the bytes are written before they are shared, and freed with the last owner.
    @safe final class Content: @unchecked Sendable {
        let authorityFile: AuthorityFile?
        /// The authorities if there is no ``authorityFile``.
        let authorities: UnsafeRawBufferPointer?
        let certificate, key: UnsafeRawBufferPointer?
        /// The reason why newer files cannot be used, as text for the user, or nil.
        let fault: String?

        fileprivate init(_ data: Files, fault: String?) {
            func copy(_ data: Data?) -> UnsafeRawBufferPointer? {
                guard let data else { return nil }
                let bytes = UnsafeMutableRawBufferPointer.allocate(
                    byteCount: max(1, data.count), alignment: 1)
                unsafe data.copyBytes(to: bytes)
                return unsafe UnsafeRawBufferPointer(rebasing: bytes[..<data.count])
            }
            authorityFile = data.authorities.flatMap { AuthorityFile($0) }
            unsafe authorities = authorityFile == nil ? copy(data.authorities) : nil
            unsafe certificate = copy(data.certificate)
            unsafe key = copy(data.key)
            self.fault = fault
        }

        deinit {
            unsafe authorities?.deallocate()
            unsafe certificate?.deallocate()
            unsafe key?.deallocate()
        }
    }

    fileprivate struct Files: Equatable {
        var authorities, certificate, key: Data?
    }

    private struct State {
        var stamps: [FileVersion?]
        var files: Files
        var content: Content
        var toldFault: String?
    }

    private let library: CurlLibrary
    private let authorities: String?
    private let pair: CurlTransport.ClientCertificate?
    private let state: Mutex<State>

    /// libcurl's own limit for a file in memory, in bytes.
    private static let maxBytes = 8_000_000

    /// - Returns: nil without files, or if libcurl's TLS cannot use content in memory.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` for a file that cannot be read.
    init?(_ trust: CurlTransport.Trust, library: CurlLibrary) throws {
        guard unsafe tpc_pem_can_read(library.pointer) else { return nil }
        self.library = library
        if case .file(let path) = trust.authorities {
            authorities = path
        } else {
            authorities = nil
        }
        pair = trust.clientCertificate
        let paths = Self.paths(authorities, pair)
        if paths.isEmpty { return nil }
        let stamps = paths.map { FileVersion($0) }
        // libcurl refuses files that do not match. No older content exists.
        let files = Files(
            authorities: try authorities.map { try Self.read($0) },
            certificate: try pair.map { try Self.read($0.certificate) },
            key: try pair.map { try Self.read($0.key) })
        state = Mutex(State(stamps: stamps, files: files, content: Content(files, fault: nil)))
    }

    private static func paths(
        _ authorities: String?, _ pair: CurlTransport.ClientCertificate?
    ) -> [String] {
        [authorities, pair?.certificate, pair?.key].compactMap { $0 }
    }

    func current() -> Content {
        let stamps = Self.paths(authorities, pair).map { FileVersion($0) }
        return state.withLock { state in
            if stamps != state.stamps {
                // The stamps are read before the content, and the next call therefore notices
                // changes during the read.
                state.stamps = stamps
                renew(&state)
            }
            return state.content
        }
    }

    // Returns the content in use, and a line for the log. Each fault and its end are logged once.
    func currentWithNews() -> (content: Content, news: String?) {
        let content = current()
        return state.withLock { state in
            let fault = content.fault
            // Another call may have logged a newer fault.
            if fault == state.toldFault || content !== state.content { return (content, nil) }
            state.toldFault = fault
            return (content, fault ?? "the certificate files can be used again, and are in use")
        }
    }

    private func renew(_ state: inout State) {
        var (files, faults) = (state.files, [String]())
        if let authorities {
            if let data = try? Self.read(authorities), hasCertificates(data) {
                files.authorities = data
            } else {
                faults.append("the authorities in \(authorities) cannot be read")
            }
        }
        if let pair {
            if let certificate = try? Self.read(pair.certificate),
                let key = try? Self.read(pair.key),
                fits(certificate, key, pair.password ?? "")
            {
                (files.certificate, files.key) = (certificate, key)
            } else {
                faults.append(
                    "the certificate in \(pair.certificate) and the key in \(pair.key) do not"
                        + " belong together, or cannot be read")
            }
        }
        let fault =
            faults.isEmpty
            ? nil : faults.joined(separator: "; ") + "; the previous content stays in use"
        if files == state.files, fault == state.content.fault { return }
        state.content = Content(files, fault: fault)
        state.files = files
    }

    private static func read(_ path: String) throws -> Data {
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: path))
        } catch {
            throw ClientError(
                .configuration, "the file \(path) cannot be read", underlying: error)
        }
        if data.count <= maxBytes { return data }
        throw ClientError(
            .configuration, "the file \(path) is larger than \(maxBytes) bytes")
    }

    private func hasCertificates(_ data: Data) -> Bool {
        unsafe data.withUnsafeBytes {
            unsafe tpc_pem_has_certificates(library.pointer, $0.baseAddress, $0.count)
        }
    }

    private func fits(_ certificate: Data, _ key: Data, _ password: String) -> Bool {
        unsafe certificate.withUnsafeBytes { certificate in
            unsafe key.withUnsafeBytes { key in
                unsafe tpc_pem_fits(
                    library.pointer, certificate.baseAddress, certificate.count, key.baseAddress,
                    key.count, password)
            }
        }
    }
}

extension FileVersion {
    fileprivate init?(_ path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }
}
