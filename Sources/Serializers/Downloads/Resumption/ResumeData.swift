// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore
import TurnpikeSupport

/// The data to continue a download, small enough to store for a later process.
///
/// ```swift
/// do {
///     _ = try await client.get("big.iso").download(to: directory, options: .init(keepsPartialFile: true))
/// } catch let error as ClientError {
///     try JSONEncoder().encode(error.resumeData).write(to: note)
/// }
/// ```
///
/// It names the file with the received bytes. That file stays until a download continues it or
/// ``discard()`` removes it. The data contains no URL and no credentials.
public struct ResumeData: Codable, Sendable, Hashable {
    /// The entity tag or date that the rest of the content must match (RFC 9110 §13.1.5).
    let validator: String
    /// The size of the complete content, if known.
    public let totalBytes: Int64?
    /// The file with the received bytes.
    public let partialFile: URL
    /// The name that the first response suggested, made safe.
    let suggestedName: String
    // A hash of the URL, so that a file found in a directory is continued only for the same
    // resource.
    let resource: String

    /// How many bytes have been received; 0 if the file is gone.
    public var receivedBytes: Int64 {
        let attributes = try? FileManager.default.attributesOfItem(
            atPath: partialFile.path(percentEncoded: false))
        return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
    }

    /// Removes the file with the received bytes.
    public func discard() {
        if PartialFile.isName(partialFile.lastPathComponent) {
            _ = try? Folder.holding(partialFile).remove(partialFile.lastPathComponent)
        }
    }

    /// Returns the hash of a URL without its fragment.
    static func resource(_ url: URL) -> String {
        SHA256.digest(of: Data(url.absoluteString.prefix { $0 != "#" }.utf8)).hexadecimal
    }
}

extension ResumeData {
    /// Decodes stored data.
    ///
    /// The name is made safe again, because the stored data may have been changed.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        validator = try values.decode(String.self, forKey: .validator)
        totalBytes = try values.decodeIfPresent(Int64.self, forKey: .totalBytes)
        partialFile = try values.decode(URL.self, forKey: .partialFile)
        let name = try values.decode(String.self, forKey: .suggestedName)
        suggestedName = FileName.safe(name) ?? "download"
        resource = try values.decode(String.self, forKey: .resource)
    }
}

extension ClientError {
    /// The data to continue the failed download, if that is possible.
    ///
    /// Set only with ``TurnpikeSerializers/DownloadOptions/keepsPartialFile``.
    public var resumeData: ResumeData? { attachment as? ResumeData }
}
