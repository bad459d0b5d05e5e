// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// The data to continue a download, which is small enough to store for a later process.
///
/// ```swift
/// do {
///     _ = try await client.get("big.iso").download(to: directory, options: .init(keepsPartialFile: true))
/// } catch let error as ClientError {
///     try JSONEncoder().encode(error.resumeData).write(to: note)
/// }
/// ```
///
/// The data contains the path of the file with the received bytes. This file stays until a download
/// continues the file or ``discard()`` removes the file. The data contains no URL and no
/// credentials.
public struct ResumeData: Codable, Sendable, Hashable {
    /// The entity tag or date that the rest of the content must match (RFC 9110 §13.1.5).
    let validator: String
    /// The size of the complete content, if known.
    public let totalBytes: Int64?
    /// The file with the received bytes.
    public let partialFile: URL
    /// The name that the first response suggested, in a safe form.
    let suggestedName: String
    // A hash of the URL. A file found in a directory is continued only for the same resource.
    let resource: String

    /// The number of received bytes, or 0 if the file is missing.
    public var receivedBytes: Int64 {
        (try? UnnamedFile.size(ofRegular: partialFile.path(percentEncoded: false))) ?? 0
    }

    /// Removes the file with the received bytes.
    public func discard() {
        if PartialFile.isName(partialFile.lastPathComponent) {
            _ = try? Folder.holding(partialFile).remove(partialFile.lastPathComponent)
        }
    }

    /// Returns a hash of the URL without the fragment.
    static func resource(_ url: URL) -> String {
        SHA256.digest(of: Data(url.absoluteString.prefix { $0 != "#" }.utf8)).hexadecimal
    }
}

extension ResumeData {
    /// Decodes stored data, and makes the name safe again, because the data may have changed.
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
    /// The data to continue the failed download, or nil if the download cannot continue.
    ///
    /// The value is nil without ``TurnpikeDownloads/DownloadOptions/keepsPartialFile``.
    public var resumeData: ResumeData? { attachment as? ResumeData }
}

/// A file with the resume data of an earlier call, for a later call.
struct ResumeNote: Sendable {
    private let file: URL
    private let directory: URL
    private let resource: String

    private static let maxBytes = 65_536

    /// Returns nil if the directory is not known before the response.
    init?(_ url: URL, _ destination: DownloadDestination) {
        guard let directory = destination.directory else { return nil }
        self.directory = directory
        resource = ResumeData.resource(url)
        let name = resource + "\n" + destination.nameInDirectory
        let digest = SHA256.digest(of: Data(name.utf8))
        file = directory.appending(
            path: ".turnpike-\(digest.prefix(16).hexadecimal).resume",
            directoryHint: .notDirectory)
    }

    /// Returns the stored data if the data is valid and about the same resource.
    func read() -> ResumeData? {
        guard
            let descriptor = try? Folder.holding(file).openFile(file.lastPathComponent, O_RDONLY)
        else { return nil }
        let file = UnnamedFile(descriptor: descriptor)
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_uid == geteuid(),
            status.st_size <= Self.maxBytes,
            let content = try? file.read(upToCount: Self.maxBytes, at: 0),
            let data = try? JSONDecoder().decode(ResumeData.self, from: content),
            data.resource == resource
        else { return nil }
        // The partial file is searched beside the note, because the directory may have been moved.
        return ResumeData(
            validator: data.validator, totalBytes: data.totalBytes,
            partialFile: directory.appending(
                path: data.partialFile.lastPathComponent, directoryHint: .notDirectory),
            suggestedName: data.suggestedName, resource: resource)
    }

    func write(_ data: ResumeData) throws {
        let partial = try PartialFile.create(in: directory)
        do {
            try partial.write(try JSONEncoder().encode(data), at: 0)
            try partial.move(to: file, replacing: true)
        } catch {
            partial.unlink()
            throw error
        }
    }

    func remove() { _ = try? Folder.holding(file).remove(file.lastPathComponent) }
}

/// A `Content-Range` field in bytes (RFC 9110 §14.4).
struct ContentRange: Equatable {
    /// The range of the content, or nil if the server could not satisfy the requested range.
    let range: ClosedRange<Int64>?
    /// The complete length, or nil if the length is unknown.
    let total: Int64?

    init?(parsing text: String) {
        let form = /bytes (?:([0-9]+)-([0-9]+)|\*)\/(?:([0-9]+)|\*)/.ignoresCase()
        guard let match = text.wholeMatch(of: form) else { return nil }
        total = match.3.flatMap { Int64($0) }
        if match.3 != nil, total == nil { return nil }
        guard let low = match.1, let high = match.2 else {
            range = nil
            return
        }
        guard let first = Int64(low), let last = Int64(high), first <= last, last < total ?? .max
        else { return nil }
        range = first...last
    }
}

extension ResponseHead {
    /// The strong validator of this content for `If-Range`, or nil if there is none or the server
    /// does not support ranges.
    func strongValidator(now: Date) -> String? {
        if headers[.acceptRanges]?.lowercased() == "none" { return nil }
        if let coding = headers[.contentEncoding], coding.lowercased() != "identity" { return nil }
        if let tag = headers[.eTag] {
            // A weak tag also rules out the date (RFC 9110 §13.1.5). The test compares bytes,
            // because a quote and a combining mark form one character.
            let quote = UInt8(ascii: "\"")
            let isStrong = tag.utf8.count >= 2 && tag.utf8.first == quote && tag.utf8.last == quote
            return isStrong ? tag : nil
        }
        guard let modified = headers[.lastModified],
            let changed = HTTPDate.parse(modified, now: now)
        else { return nil }
        guard let text = headers[.date] else {
            // Without `Date`, the response was sent about now (RFC 9110 §6.6.1). Clocks may differ.
            return now.timeIntervalSince(changed) >= 60 ? modified : nil
        }
        // A date is strong only if the content cannot have changed within the same second (RFC 9110
        // §8.8.2.2).
        let date = HTTPDate.parse(text, now: now)
        return date.map { $0.timeIntervalSince(changed) >= 1 } == true ? modified : nil
    }
}
