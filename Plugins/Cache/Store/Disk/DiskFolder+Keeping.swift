import Foundation
import TurnpikeCore

// How entries get their places.
extension DiskFolder {
    /// What an entry's file is made of.
    enum Content {
        /// All of its bytes.
        case bytes(Data)
        /// A file that was written, at a path that is not looked up.
        case file(String)
    }

    /// Puts a file in an entry's place, if there is room.
    ///
    /// Where there was no entry of the key, as after nearly every miss, a small file is written where
    /// it belongs: to make one elsewhere and to rename it costs more than all the rest. Who looks it
    /// up before it is whole, or after its writer was killed, finds no entry, for the length and the
    /// checksums in it are not right; only what is still so within the lock is removed. What takes
    /// another file's place is renamed.
    /// - Parameters:
    ///   - response: What the file holds.
    ///   - content: The file.
    ///   - bytes: The file's size.
    ///   - usage: What there is.
    /// - Throws: What keeps the file from being made or moved; nothing has changed then.
    func keep(
        _ response: StoredResponse, _ content: Content, bytes: Int64, _ usage: inout CacheUsage
    ) throws {
        let room = Self.room(bytes)
        guard try makeRoom(room, &usage) else {
            // What has grown too large is not what it was, either.
            return try removeAll(of: response.key, &usage)
        }
        let name = EntryName(response.key)
        usage.bytes += room
        usage.entries += 1
        var before: Int64?
        do {
            try note(usage)
            let isNew = try filter?.add(name) == false
            if isNew, case .bytes(let data) = content, try create(name, data) { return }
            before = try put(content, for: response, name)
        } catch {
            usage.bytes -= room
            usage.entries -= 1
            throw error
        }
        if let before {
            usage.bytes -= Self.room(before)
            usage.entries -= 1
        }
    }

    // Gives false where that cannot be done: there is a file, or no folder to make it in.
    private func create(_ name: EntryName, _ data: Data) throws -> Bool {
        let place = Self.path(Self.stem(root, name), 0)
        let file: CacheFile
        do {
            file = try CacheFile.new(place)
        } catch let fault as FileFault where fault.code == EEXIST || fault.code == ENOENT {
            return false
        }
        do {
            try file.write(data, at: 0)
        } catch {
            // Else it goes when it is looked up.
            _ = try? CacheFile.remove(place)
            throw error
        }
        return true
    }

    // Gives the size of the file whose place it takes.
    private func put(
        _ content: Content, for response: StoredResponse, _ name: EntryName
    ) throws -> Int64? {
        let place = try place(for: response, name)
        let before = try CacheFile.state(of: place)?.size
        switch content {
        case .file(let path): try Self.move(path, to: place)
        case .bytes(let data):
            let (path, file) = try temporary()
            do {
                try file.write(data, at: 0)
                try Self.move(path, to: place)
            } catch {
                // Else it goes when the folder is counted.
                _ = try? CacheFile.remove(path)
                throw error
            }
        }
        return before
    }

    private static func move(_ path: String, to place: String) throws {
        do {
            try CacheFile.move(path, to: place)
        } catch let fault as FileFault where fault.code == ENOENT {
            try CacheFile.makeFolder(String(place.dropLast(43)))
            try CacheFile.move(path, to: place)
        }
    }

    /// Where an entry belongs: in the place of its own variant, in a free one, or in that of the
    /// entry that came first.
    private func place(for response: StoredResponse, _ name: EntryName) throws -> String {
        let stem = Self.stem(root, name)
        var oldest: (path: String, date: Date)?
        for slot in 0..<Self.maxVariants {
            let path = Self.path(stem, slot)
            // Its own may come behind the gap: then the newer one of the two is found.
            guard let file = try CacheFile.existing(path) else { return path }
            guard let entry = try EntryFile(file) else { return path }
            if entry.response.variant == response.variant { return path }
            if entry.response.responseTime < oldest?.date ?? .distantFuture {
                oldest = (path, entry.response.responseTime)
            }
        }
        return oldest?.path ?? Self.path(stem, 0)
    }
}
