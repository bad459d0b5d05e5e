// SPDX-License-Identifier: Apache-2.0

import CTurnpikeValkey
import Foundation
import TurnpikeCore

/// Commands as they are sent.
enum Wire {
    /// A server takes no longer argument (`proto-max-bulk-len`).
    private static let mostBytes = 512 << 20

    /// Formats a command with libhiredis.
    /// - Returns: What the body returns, or nil if the command cannot be formatted.
    static func format<Result>(
        _ arguments: [Data], _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result? {
        var total = 0
        for argument in arguments { total += argument.count }
        guard !arguments.isEmpty, arguments.count < 1 << 20, total <= mostBytes else { return nil }
        return unsafe withUnsafeTemporaryAllocation(of: Int.self, capacity: arguments.count) {
            lengths in
            unsafe withUnsafeTemporaryAllocation(byteCount: max(total, 1), alignment: 1) { bytes in
                var place = 0
                for (index, argument) in arguments.enumerated() {
                    unsafe lengths[index] = argument.count
                    let part = unsafe UnsafeMutableRawBufferPointer(
                        rebasing: bytes[place..<(place + argument.count)])
                    unsafe argument.withUnsafeBytes { unsafe part.copyMemory(from: $0) }
                    place += argument.count
                }
                var text: UnsafeMutablePointer<CChar>?
                let count = unsafe tpv_format(
                    bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), lengthsOf(lengths),
                    Int32(arguments.count), &text)
                defer { unsafe tpv_format_free(text) }
                guard count > 0, let text = unsafe text else { return nil }
                return unsafe body(UnsafeRawBufferPointer(start: text, count: Int(count)))
            }
        }
    }

    // The C type of sizes is unsigned; all of these are small.
    private static func lengthsOf(_ lengths: UnsafeMutableBufferPointer<Int>)
        -> UnsafePointer<Int>?
    {
        unsafe UnsafePointer(lengths.baseAddress)
    }

    /// The bytes of a command; nil if it cannot be formatted, or there is no library.
    static func prepared(_ arguments: [Data]) -> [UInt8]? {
        if (try? HiredisLibrary.load()) == nil { return nil }
        return unsafe format(arguments) { unsafe [UInt8]($0) }
    }

    static func bytes(_ arguments: [Data]) -> [UInt8] {
        unsafe format(arguments) { unsafe [UInt8]($0) } ?? []
    }

    static func bytes(_ arguments: String...) -> [UInt8] {
        bytes(arguments.map { Data($0.utf8) })
    }

    static let asking = bytes("ASKING")
    static let slots = bytes("CLUSTER", "SLOTS")
}

/// The libhiredis of this system, which is loaded when it is first needed.
enum HiredisLibrary {
    private static let shared: ClientError? = fault(loading: nil)

    /// Loads the library from a file; nil means the usual files.
    ///
    /// It is for tests of failures. After a success, it must not be called again.
    /// - Returns: ``/TurnpikeCore/ClientError/Code/unsupported`` if there is no library, or if it is
    ///   too old or lacks a function.
    static func fault(loading file: String?) -> ClientError? {
        guard let reason = unsafe tpv_load(file) else { return nil }
        return ClientError(
            .unsupported,
            "the Valkey client needs libhiredis 0.14 or 1.x: \(unsafe String(cString: reason));"
                + " install it, on Debian with: apt-get install libhiredis0.14")
    }

    /// Loads the library, once in a process.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/unsupported`` if there is none or it is too old.
    static func load() throws { if let shared { throw shared } }
}
