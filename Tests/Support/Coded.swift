// SPDX-License-Identifier: Apache-2.0

package import Foundation
package import TurnpikeSupport

extension CompressionFormat {
    /// The formats that this machine can write: the tests of the others are left out.
    package static let written = allCases.filter {
        guard $0 == .brotli else { return $0.isThere }
        return unsafe $0.isThere && brotliEncoder != nil
    }

    /// Codes content.
    package func coded(_ content: Data, level: Int = 6) throws -> Data {
        let compressor: any Compressor
        switch self {
        case .brotli: return try Self.brotli(content, level: level)
        case .zstd: compressor = try ZstdCompressor(level: level)
        case .gzip, .deflate: compressor = try Deflater(self, level: level)
        }
        return try compressor.add(content) + compressor.finish()
    }

    // The framework itself does not write Brotli.
    private typealias Encode =
        @convention(c) (
            CInt, CInt, CInt, Int, UnsafePointer<UInt8>?, UnsafeMutablePointer<Int>,
            UnsafeMutablePointer<UInt8>
        ) -> CInt

    private static let brotliEncoder: Encode? = {
        guard let library = unsafe dlopen("libbrotlienc.so.1", RTLD_NOW),
            let symbol = unsafe dlsym(library, "BrotliEncoderCompress")
        else { return nil }
        return unsafe unsafeBitCast(symbol, to: Encode.self)
    }()

    private static func brotli(_ content: Data, level: Int) throws -> Data {
        guard let encode = unsafe brotliEncoder else { throw CompressionFault.noLibrary }
        var count = content.count + 1024
        var output = [UInt8](repeating: 0, count: count)
        let input = [UInt8](content)
        // A window of 4 MiB, in the mode for any content.
        guard unsafe encode(CInt(level), 22, 0, input.count, input, &count, &output) == 1 else {
            throw CompressionFault.corrupt
        }
        return Data(output[..<count])
    }
}
