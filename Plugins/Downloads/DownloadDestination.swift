// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// The place of a downloaded file, and the permission to create folders or replace a file.
///
/// ```swift
/// let file = try await client.get("big.iso").download(to: .directory(downloads).creatingDirectories())
/// ```
///
/// The content is written to a hidden file of mode 0600 in the destination directory. The complete
/// file is renamed. Other programs therefore never see a partial file.
public struct DownloadDestination: Sendable {
    private enum Place: Sendable {
        case directory(URL, name: String?)
        case file(URL)
        case choice(@Sendable (ResponseHead, String) throws -> URL)
    }

    private let place: Place
    private(set) var createsDirectories = false
    private(set) var replaces = false

    /// A directory.
    ///
    /// Without a name, the file gets the name that the response suggests, in a safe form.
    public static func directory(_ directory: URL, name: String? = nil) -> Self {
        Self(place: .directory(directory, name: name))
    }

    /// A file at this URL.
    public static func file(_ file: URL) -> Self { Self(place: .file(file)) }

    /// A file with a random name in the system's directory for temporary files.
    public static var temporary: Self {
        let directory = FileManager.default.temporaryDirectory
        return .choosing { _, _ in directory.appending(path: "turnpike-" + UUID().uuidString) }
    }

    /// A file that the closure chooses when the response head arrives.
    ///
    /// The closure receives the head and the suggested name in a safe form.
    public static func choosing(
        _ choose: @escaping @Sendable (_ head: ResponseHead, _ suggestedName: String) throws -> URL
    ) -> Self { Self(place: .choice(choose)) }

    /// Returns a copy of this destination that creates missing directories.
    public func creatingDirectories() -> Self {
        var copy = self
        copy.createsDirectories = true
        return copy
    }

    /// Returns a copy of this destination that replaces an existing file.
    ///
    /// By default, the download fails if the file exists.
    public func replacingFile() -> Self {
        var copy = self
        copy.replaces = true
        return copy
    }

    /// The directory, or nil if the directory depends on the response.
    var directory: URL? {
        switch place {
        case .directory(let directory, _): directory
        case .file(let file): file.deletingLastPathComponent()
        case .choice: nil
        }
    }

    var nameInDirectory: String {
        switch place {
        case .directory(_, let name): name ?? ""
        case .file(let file): file.lastPathComponent
        case .choice: ""
        }
    }

    // Checks the directory before the request. The name of the file is checked later.
    func check() throws {
        guard let directory else { return }
        try prepare(directory)
        _ = try fixedFile()
    }

    func file(for head: ResponseHead, suggestedName: String) throws -> URL {
        let file: URL
        if let fixed = try fixedFile() {
            file = fixed
        } else {
            switch place {
            case .directory(let directory, _):
                file = directory.appending(path: suggestedName, directoryHint: .notDirectory)
            case .choice(let choose): file = try choose(head, suggestedName)
            case .file(let fixed): file = fixed
            }
        }
        guard file.isFileURL else {
            throw ClientError(.download, "the destination is not a file URL")
        }
        try prepare(file.deletingLastPathComponent())
        try checkFree(file)
        return file
    }

    private func fixedFile() throws -> URL? {
        switch place {
        case .file(let file): return file
        case .directory(let directory, let name?):
            guard !name.isEmpty, name != ".", name != "..",
                !name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == 0 })
            else { throw ClientError(.download, "the name for the download is not a file name") }
            return directory.appending(path: name, directoryHint: .notDirectory)
        case .directory, .choice: return nil
        }
    }

    private func prepare(_ directory: URL) throws {
        guard directory.isFileURL else {
            throw ClientError(.download, "the destination is not a file URL")
        }
        if let isFolder = UnnamedFile.isFolder(directory.path(percentEncoded: false)) {
            if isFolder { return }
            throw ClientError(.download, "the path of the destination directory is not a directory")
        }
        guard createsDirectories else {
            throw ClientError(
                .download, "the destination directory does not exist; use creatingDirectories()")
        }
        do {
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true)
        } catch {
            throw ClientError(
                .download, "the destination directory cannot be created", underlying: error)
        }
    }

    private func checkFree(_ file: URL) throws {
        // The check does not follow links, because a dangling link also occupies a name.
        let attributes = try? FileManager.default.attributesOfItem(
            atPath: file.path(percentEncoded: false))
        guard let attributes else { return }
        if attributes[.type] as? FileAttributeType == .typeDirectory {
            throw ClientError(.download, "the path of the destination file is a directory")
        }
        if !replaces {
            throw ClientError(.download, "the destination file already exists; use replacingFile()")
        }
    }
}

/// File names that come from a peer.
enum FileName {
    /// The longest name in bytes on common file systems.
    static let maxBytes = 255

    /// Returns the name as one safe path component, or nil if nothing of the name remains.
    ///
    /// Only the part after the last slash or backslash is used. Control characters and characters
    /// that change the text direction are removed. Dots and spaces at both ends are removed,
    /// because the name must be neither `..` nor hidden. Names with a leading hyphen and names of
    /// devices get an underscore. The name is truncated to 255 bytes, but keeps the extension.
    ///
    /// The scan uses scalars, because a slash and a combining mark form one Swift character that is
    /// not a slash. In the file system, the slash is a separator.
    static func safe(_ name: String) -> String? {
        let parts = name.unicodeScalars.split(omittingEmptySubsequences: false) {
            $0 == "/" || $0 == "\\"
        }
        guard let last = parts.last else { return nil }
        var scalars = String.UnicodeScalarView()
        for scalar in last where !isHarmful(scalar) { scalars.append(scalar) }
        var name = trimmed(String(scalars))
        if name.isEmpty { return nil }
        if name.unicodeScalars.first == "-" || isDevice(name) { name = "_" + name }
        return cut(name)
    }

    static func of(_ url: URL) -> String? {
        let path = url.path(percentEncoded: true)
        guard !path.hasSuffix("/"), let last = path.split(separator: "/").last else { return nil }
        return PercentEncoding.decode(last).flatMap(safe)
    }

    private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: false
        }
    }

    private static func trimmed(_ name: String) -> String {
        func isTrimmed(_ scalar: Unicode.Scalar) -> Bool {
            scalar == "." || scalar.properties.isWhitespace
        }
        var rest = name.unicodeScalars[...]
        while let first = rest.first, isTrimmed(first) { rest.removeFirst() }
        while let last = rest.last, isTrimmed(last) { rest.removeLast() }
        return String(rest)
    }

    private static func isDevice(_ name: String) -> Bool {
        let stem = String(name.unicodeScalars.prefix { $0 != "." }).uppercased()
        if ["CON", "PRN", "AUX", "NUL"].contains(stem) { return true }
        guard stem.count == 4, let digit = stem.last, ("1"..."9").contains(digit) else {
            return false
        }
        return stem.hasPrefix("COM") || stem.hasPrefix("LPT")
    }

    // Returns nil if truncation would leave nothing before the extension.
    private static func cut(_ name: String) -> String? {
        guard name.utf8.count > maxBytes else { return name }
        var ending = ""
        // The search compares bytes, because backward steps by characters may scan the whole name.
        if let dot = name.utf8.suffix(32).lastIndex(of: UInt8(ascii: ".")) {
            ending = String(name[dot...])
        }
        let room = maxBytes - ending.utf8.count
        var stem = ""
        for character in name {
            guard stem.utf8.count + String(character).utf8.count <= room else { break }
            stem.append(character)
        }
        let kept = trimmed(stem)
        return kept.isEmpty ? nil : kept + ending
    }
}

extension ResponseHead {
    /// The file name that the response suggests.
    ///
    /// The name comes from `Content-Disposition` (RFC 6266) or, without this field, from the last
    /// path component of the URL. Without both, the name is `download`. The name is one path
    /// component of at most 255 bytes without control characters, and neither hidden nor `..`.
    var suggestedFilename: String {
        headers[.contentDisposition].flatMap { ContentDisposition(parsing: $0).filename }
            .flatMap(FileName.safe) ?? FileName.of(url) ?? "download"
    }
}

/// The parameters of a `Content-Disposition` field (RFC 6266).
struct ContentDisposition: Equatable {
    // The parameters with names in lower case. If a name occurs twice, the first value is used.
    let parameters: [String: String]

    init(parsing text: String) {
        var parameters: [String: String] = [:]
        for part in Grammar.split(text[...], at: UInt8(ascii: ";")).dropFirst() {
            guard let equals = part.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = Grammar.trimmed(part[..<equals]).lowercased()
            if parameters[name] != nil { continue }
            parameters[name] = Grammar.unquoted(
                Grammar.trimmed(part[part.utf8.index(after: equals)...]))
        }
        self.parameters = parameters
    }

    /// The file name from a valid `filename*`, or from `filename`.
    var filename: String? {
        parameters["filename*"].flatMap(ExtendedValue.decode) ?? parameters["filename"]
    }
}
