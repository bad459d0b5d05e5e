public import Foundation
public import TurnpikeCore

/// What is needed to go on with a download: a small value that survives the process.
///
/// ```swift
/// do {
///     _ = try await client.get("big.iso").download(to: directory, options: .init(keepsPartialFile: true))
/// } catch let error as ClientError {
///     try JSONEncoder().encode(error.resumeData).write(to: note)
/// }
/// ```
///
/// It names the file with what has come, which belongs to it until a download takes it up or
/// ``discard()`` removes it. It holds no URL and no credential.
public struct ResumeData: Codable, Sendable, Hashable {
    /// The entity tag or date that the rest must have for its own (RFC 9110 §13.1.5).
    public let validator: String
    /// The size of the whole, where it is known.
    public let totalBytes: Int64?
    /// The file with what has come.
    public let partialFile: URL
    /// The name that the first response suggested, made safe.
    public let suggestedName: String
    // The URL's hash: what lies in a directory goes on with the same resource alone.
    let resource: String

    /// How many bytes have come; 0 where the file is gone.
    public var receivedBytes: Int64 {
        let attributes = try? FileManager.default.attributesOfItem(
            atPath: partialFile.path(percentEncoded: false))
        return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
    }

    /// Removes what has come.
    public func discard() {
        if PartialFile.isName(partialFile.lastPathComponent) {
            _ = try? Folder.holding(partialFile).remove(partialFile.lastPathComponent)
        }
    }

    /// The hash of a URL without its fragment.
    static func resource(_ url: URL) -> String {
        var hash = SHA256()
        hash.update(Data(url.absoluteString.prefix { $0 != "#" }.utf8))
        return hash.finish().hexadecimal
    }
}

extension ResumeData {
    /// Decodes what was kept; the name is made safe again, for whoever kept it may have changed it.
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
    /// What a download left that failed, where it may be taken up again.
    ///
    /// It is there only under ``TurnpikeSerializers/DownloadOptions/keepsPartialFile``.
    public var resumeData: ResumeData? { attachment as? ResumeData }
}
