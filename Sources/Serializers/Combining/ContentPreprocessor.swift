// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// A transformation of content before a serializer reads it.
///
/// ```swift
/// let json = JSONSerializer().preprocessed(by: .removingXSSIPrefix)
/// let value = try await client.get("data").serialize(with: json)
/// ```
public struct ContentPreprocessor: Sendable {
    let process: @Sendable (Data) throws -> Data

    /// Creates a transformation from a closure.
    public init(_ process: @escaping @Sendable (Data) throws -> Data) { self.process = process }

    /// Removes a prefix that keeps JSON from being run as a script.
    ///
    /// Google and Angular send `)]}'` and the rest of that line; other servers send `while(1);` or
    /// `for(;;);`.
    public static let removingXSSIPrefix = ContentPreprocessor { content in
        if content.starts(with: Data(")]}'".utf8)) {
            let rest = content.dropFirst(4)
            guard let end = rest.firstIndex(of: 0x0A) else {
                return rest.first == UInt8(ascii: ",") ? rest.dropFirst() : rest
            }
            let line = rest[..<end].filter { $0 != 0x0D && $0 != 0x20 && $0 != UInt8(ascii: ",") }
            return line.isEmpty ? rest[(end + 1)...] : rest
        }
        for prefix in ["while(1);", "for(;;);"] where content.starts(with: Data(prefix.utf8)) {
            return content.dropFirst(prefix.utf8.count)
        }
        return content
    }
}
