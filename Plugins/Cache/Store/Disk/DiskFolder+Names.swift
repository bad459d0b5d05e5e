import Foundation

// What its files are called.
extension DiskFolder {
    /// The path of a key's entries, without their numbers.
    static func stem(_ root: String, _ key: CacheKey) -> String { stem(root, EntryName(key)) }

    static func stem(_ root: String, _ name: EntryName) -> String {
        let text = name.text
        return "\(root)/\(text.prefix(2))/\(text)"
    }

    static func path(_ stem: String, _ slot: Int) -> String { "\(stem)-\(slot)" }

    /// The paths of all files that may be entries.
    /// - Throws: What keeps a folder from being read.
    static func paths(_ root: String) throws -> [String] {
        try names(root).filter { $0.utf8.count == 2 }.flatMap { folder in
            try names("\(root)/\(folder)").filter { name in
                name.utf8.count == 42 && name.hasPrefix(folder) && name.dropLast().last == "-"
            }.map { "\(root)/\(folder)/\($0)" }
        }
    }

    /// What stands in a folder; nothing where there is none.
    /// - Throws: What keeps the folder from being read: it must not be taken for an empty one.
    static func names(_ path: String) throws -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            if CacheFile.isFolder(path) { throw error }
            return []
        }
    }
}
