// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
public import TurnpikeSupport

extension CurlTransport {
    /// The servers that TLS trusts, and the client's own certificate.
    ///
    /// A certificate is always verified, including its host name. Pins are an additional check.
    ///
    /// Files may be replaced during the life of the transport. Later calls use the new files, on a
    /// new connection with a new TLS handshake. If files cannot be used (certificate and key that
    /// do not match, an incomplete file), the transport continues to use the old content.
    /// ``CurlTransport/trustFault`` and the errors of failing connections contain the reason. The
    /// log and the trace report the first call with unusable files, and the first call after the
    /// repair. This replacement needs a libcurl that uses OpenSSL as a shared library. Other
    /// libcurls read certificate and key for each connection without the check, and may use old
    /// authorities, including the system's, for a day.
    public struct Trust: Sendable {
        /// The certificate authorities that are trusted.
        public enum Authorities: Sendable {
            /// The authorities of the system.
            case system
            /// Only the authorities in a PEM file.
            case file(String)
            /// Only the authorities in PEM text.
            case data(Data)
        }

        /// A version of TLS.
        public enum Version: String, Sendable, CaseIterable {
            /// TLS 1.2.
            case tls12 = "1.2"
            /// TLS 1.3.
            case tls13 = "1.3"
        }

        /// The certificate authorities that are trusted.
        public var authorities = Authorities.system
        /// The allowed public keys of servers, or an empty list for any certified key.
        ///
        /// Name a backup key, because a change of keys locks out a client without a backup key.
        public var pins: [PublicKeyPin] = []
        /// The certificate that the client sends if a server requests a certificate.
        public var clientCertificate: ClientCertificate?
        /// The oldest allowed version of TLS.
        public var minimumVersion = Version.tls12
        /// Whether any certificate is accepted, even the certificate of an attacker on the network.
        ///
        /// For tests with self-signed certificates, set ``authorities`` instead.
        public var insecurelyAcceptsAnyCertificate = false

        /// Creates the default trust, with the system's authorities and TLS 1.2 or later.
        public init() {}

        var namesFiles: Bool {
            if case .file = authorities { return true }
            return clientCertificate != nil
        }
    }

    /// The SHA-256 hash of a public key's SubjectPublicKeyInfo (RFC 7469 §2.4).
    public struct PublicKeyPin: Sendable, Hashable, CustomStringConvertible {
        /// The pin as a text of `sha256/` and Base64.
        public let description: String

        /// Creates a pin from `sha256/` and Base64, with one slash or two.
        /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` if the text is not a SHA-256
        ///   hash.
        public init(_ text: String) throws {
            let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            // The Base64 text may itself begin with a slash. 32 bytes have 44 characters.
            var hash = parts.count == 2 ? parts[1] : ""
            if hash.utf8.count > 44, hash.utf8.first == UInt8(ascii: "/") { hash.removeFirst() }
            guard parts.first == "sha256", Data(base64Encoded: String(hash))?.count == 32 else {
                throw ClientError(
                    .configuration,
                    "found \"\(Grammar.escaped(text, upTo: 80))\" as a pin; expected sha256/ and 32"
                        + " bytes in Base64 (see openssl dgst)")
            }
            description = "sha256/" + hash
        }

        // The pin in libcurl's format.
        var curlText: String { "sha256//" + description.dropFirst(7) }
    }

    /// The client's certificate and key, in PEM files.
    public struct ClientCertificate: Sendable {
        /// The file of the certificate, followed by the certificates of its issuers.
        public var certificate: String
        /// The file of the private key.
        public var key: String
        /// The password of the key; the transport never asks for a password.
        public var password: String?

        /// Creates a client certificate.
        public init(certificate: String, key: String, password: String? = nil) {
            self.certificate = certificate
            self.key = key
            self.password = password
        }
    }
}

extension CurlTransport.ClientCertificate: CustomStringConvertible, CustomReflectable {
    /// The names of the files.
    public var description: String { "certificate \(certificate), key \(key)" }

    /// A mirror that shows ``description`` in a dump.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
