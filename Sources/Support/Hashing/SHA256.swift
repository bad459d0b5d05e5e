// SPDX-License-Identifier: Apache-2.0

/// Computes SHA-256 (FIPS 180-4) of bytes, of portions, of files and of request bodies.
///
/// ```swift
/// var hash = SHA256()
/// for chunk in chunks { hash.update(chunk) }
/// request.headers["X-Content-SHA256"] = hash.finalize().hexadecimal
/// ```
///
/// A gate that signs requests gets the hash of a body from `digest(of: request.body)`, which
/// `TurnpikeCore` adds, and signs the hash with ``HMACSHA256``. Foundation on Linux has no SHA-256.
public struct SHA256: Sendable {
    private var hash = BlockHash<SHA256Compression>()

    /// Creates the hash of an empty message.
    public init() {}

    /// Returns the digest of some bytes.
    /// - Parameter data: The message.
    /// - Returns: 32 bytes.
    public static func digest(of data: Data) -> Data {
        var hash = SHA256()
        hash.update(data)
        return hash.finalize()
    }

    /// Adds bytes to the message, in portions of any size.
    public mutating func update(_ data: Data) {
        unsafe data.withUnsafeBytes { unsafe hash.update($0) }
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) { unsafe hash.update(bytes) }

    /// Returns the digest of all bytes that were added so far (32 bytes).
    ///
    /// If bytes are added later, the next digest covers the longer message.
    public func finalize() -> Data { hash.finalize() }
}

struct SHA256Compression: BlockCompression {
    private var state: [UInt32] = [
        0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB,
        0x5BE0_CD19,
    ]

    init() {}

    static var isBigEndian: Bool { true }

    var digest: [UInt8] {
        (0..<32).map { UInt8(truncatingIfNeeded: state[$0 / 4] >> UInt32(24 - 8 * ($0 % 4))) }
    }

    mutating func compress(_ blocks: UnsafeRawBufferPointer) {
        unsafe withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { schedule in
            unsafe Self.constants.withUnsafeBufferPointer { constants in
                unsafe state.withUnsafeMutableBufferPointer { state in
                    guard let block = blocks.baseAddress,
                        let schedule = schedule.baseAddress,
                        let constants = constants.baseAddress,
                        let state = state.baseAddress
                    else { return }
                    var offset = 0
                    while offset < blocks.count {
                        unsafe Self.fill(schedule, from: block + offset)
                        unsafe Self.run(schedule, constants, state)
                        offset &+= 64
                    }
                }
            }
        }
    }

    private static func fill(
        _ schedule: UnsafeMutablePointer<UInt32>, from block: UnsafeRawPointer
    ) {
        unsafe UnsafeMutableRawPointer(schedule).copyMemory(from: block, byteCount: 64)
        var index = 0
        while index < 16 {
            unsafe schedule[index] = unsafe schedule[index].bigEndian
            index &+= 1
        }
        while index < 64 {
            let a = unsafe schedule[index &- 15]
            let b = unsafe schedule[index &- 2]
            let s0 = (a &>> 7 | a &<< 25) ^ (a &>> 18 | a &<< 14) ^ (a &>> 3)
            let s1 = (b &>> 17 | b &<< 15) ^ (b &>> 19 | b &<< 13) ^ (b &>> 10)
            unsafe schedule[index] =
                unsafe schedule[index &- 16] &+ s0 &+ schedule[index &- 7] &+ s1
            index &+= 1
        }
    }

    private static func run(
        _ schedule: UnsafePointer<UInt32>, _ constants: UnsafePointer<UInt32>,
        _ state: UnsafeMutablePointer<UInt32>
    ) {
        var (a, b, c, d) = unsafe (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = unsafe (state[4], state[5], state[6], state[7])
        var index = 0
        while index < 64 {
            let s1 = (e &>> 6 | e &<< 26) ^ (e &>> 11 | e &<< 21) ^ (e &>> 25 | e &<< 7)
            let word = unsafe constants[index] &+ schedule[index]
            let first = h &+ s1 &+ ((e & f) ^ (~e & g)) &+ word
            let s0 = (a &>> 2 | a &<< 30) ^ (a &>> 13 | a &<< 19) ^ (a &>> 22 | a &<< 10)
            let second = s0 &+ ((a & b) ^ (a & c) ^ (b & c))
            (h, g, f, e) = (g, f, e, d &+ first)
            (d, c, b, a) = (c, b, a, first &+ second)
            index &+= 1
        }
        unsafe state[0] &+= a
        unsafe state[1] &+= b
        unsafe state[2] &+= c
        unsafe state[3] &+= d
        unsafe state[4] &+= e
        unsafe state[5] &+= f
        unsafe state[6] &+= g
        unsafe state[7] &+= h
    }

    private static let constants: [UInt32] = [
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7,
        0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc,
        0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351,
        0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e,
        0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585,
        0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
        0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2,
    ]
}

extension SHA256 {
    /// Returns the digest of the content of a file of any size.
    ///
    /// The file is read in portions of 64 KiB, on a thread that may block.
    /// - Parameter url: A regular file, or a symbolic link to a regular file.
    /// - Returns: 32 bytes.
    /// - Throws: ``FileFault`` if the file cannot be read or is not regular, or `CancellationError`
    ///   soon after a cancellation of the task.
    public static func digest(ofFile url: URL) async throws -> Data {
        let path = url.path(percentEncoded: false)
        return try await BlockingExecutor.run { try digest(ofFile: path) }
    }

    private static let portionBytes = 65_536

    private static func digest(ofFile path: String) throws -> Data {
        // Without O_NONBLOCK, opening a FIFO would wait for a writer.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw FileFault("read \(path)") }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw FileFault("read \(path)") }
        guard status.st_mode & S_IFMT == S_IFREG else {
            let found = status.st_mode & S_IFMT == S_IFDIR ? "a folder" : "a device or a pipe"
            throw FileFault(
                refusing: path, "found \(found); expected a regular file", code: EINVAL)
        }
        var hash = SHA256()
        var portion = [UInt8](repeating: 0, count: portionBytes)
        while true {
            try Task.checkCancellation()
            let count = unsafe portion.withUnsafeMutableBytes { bytes in
                let count = unsafe read(descriptor, bytes.baseAddress, bytes.count)
                if count > 0 {
                    unsafe hash.update(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
                }
                return count
            }
            if count == 0 { return hash.finalize() }
            if count < 0, errno != EINTR { throw FileFault("read \(path)") }
        }
    }
}

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
/// To include the content, sign the digest `SHA256.digest(of: request.body)` (see ``SHA256``). A
/// gate that signs the content is a `RequestAdapter`, because reading a file or a stream may
/// suspend. Foundation on Linux has no HMAC.
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

    /// Whether a code is valid for a message, for a server that checks signatures of clients.
    ///
    /// The time depends only on the lengths, and not on the position of the first different byte.
    /// With `==`, the time would show an attacker how much of a guess was right.
    /// - Parameters:
    ///   - code: The received code.
    ///   - message: The unchanged bytes of the message.
    ///   - key: The key.
    /// - Returns: Whether the code is valid; a code of another length is not valid.
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
