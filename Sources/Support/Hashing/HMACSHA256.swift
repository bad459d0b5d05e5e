// SPDX-License-Identifier: Apache-2.0

public import struct Foundation.Data

/// HMAC with SHA-256 (RFC 2104), for gates that sign requests.
///
/// ```swift
/// struct Signature: SynchronousRequestAdapter {
///     let key: Data
///     func adapt(_ request: inout Request, context: Context) {
///         let message = "\(request.method) \(request.targetURI.originForm)"
///         let code = HMACSHA256.code(for: Data(message.utf8), key: key)
///         request.headers["X-Signature"] = code.base64EncodedString()
///     }
/// }
/// ```
///
/// To cover the content too, sign its digest, `SHA256.digest(of: request.body)` (see ``SHA256``). The
/// gate is then a `RequestAdapter`, because reading a file or a stream waits.
///
/// Provided here because neither Foundation on Linux nor the C library has it.
public enum HMACSHA256 {
    /// Returns the authentication code of a message.
    /// - Parameters:
    ///   - message: The message.
    ///   - key: The key, of any length; more than 32 random bytes add no security.
    /// - Returns: 32 bytes.
    public static func code(for message: Data, key: Data) -> Data {
        var block = [UInt8](key.count > 64 ? SHA256.digest(of: key) : key)
        block += repeatElement(0, count: 64 - block.count)
        let inner = hash(block, 0x36, message)
        return hash(block, 0x5C, inner)
    }

    /// Whether a code is that of a message, for a server that checks what a client has signed.
    ///
    /// The time depends only on the lengths, never on the place of the first byte that differs: a
    /// comparison with `==` would tell a sender how much of a guess was right.
    /// - Parameters:
    ///   - code: The code that came with the message.
    ///   - message: The message, byte for byte as it came.
    ///   - key: The key.
    /// - Returns: Whether the code is valid; a code of another length is not.
    public static func isValid(_ code: Data, for message: Data, key: Data) -> Bool {
        let expected = Self.code(for: message, key: key)
        guard code.count == expected.count else { return false }
        return zip(code, expected).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private static func hash(_ block: [UInt8], _ pad: UInt8, _ rest: Data) -> Data {
        var hash = SHA256()
        hash.update(Data(block.map { $0 ^ pad }))
        hash.update(rest)
        return hash.finalize()
    }
}
