// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

// An open file of a disk store. Each read and each write has its own position.
final class CacheFile: Sendable {
    private let descriptor: CInt

    private init(descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    // MARK: Opening

    static func existing(
        _ name: String, in folder: Folder, forWriting: Bool = false
    ) throws -> CacheFile? {
        do {
            return CacheFile(
                descriptor: try folder.openFile(name, forWriting ? O_RDWR : O_RDONLY))
        } catch  where error.code == ENOENT {
            return nil
        }
    }

    // Creates a file with mode 0600. Throws an error if the file exists.
    static func new(_ name: String, in folder: Folder) throws -> CacheFile {
        CacheFile(descriptor: try folder.openFile(name, O_RDWR | O_CREAT | O_EXCL))
    }

    static func shared(_ name: String, in folder: Folder) throws -> CacheFile {
        CacheFile(descriptor: try folder.openFile(name, O_RDWR | O_CREAT))
    }

    // MARK: The lock

    /// Takes the file's lock, and waits up to a limit for the lock.
    ///
    /// The operating system releases the lock when the process ends.
    func lock(within patience: Duration = .zero) -> Bool {
        let clock = ContinuousClock()
        let end = clock.now + patience
        while true {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
            if clock.now >= end { return false }
            // The loop polls, because the system call for the lock has no time limit.
            usleep(1000)
        }
    }

    func unlock() { flock(descriptor, LOCK_UN) }

    // MARK: State

    /// Returns the size in bytes, and the time of the last use in seconds since 1970.
    func state() throws -> (size: Int64, used: Int) {
        var info = stat()
        guard unsafe fstat(descriptor, &info) == 0 else { throw FileFault("inspect a file") }
        return Self.state(info)
    }

    static func state(of name: String, in folder: Folder) throws -> (size: Int64, used: Int)? {
        try folder.status(of: name).map(state)
    }

    private static func state(_ info: stat) -> (size: Int64, used: Int) {
        let version = FileVersion(info)
        return (version.size, Int(version.modified / 1_000_000_000))
    }

    var isRemoved: Bool {
        var info = stat()
        return unsafe fstat(descriptor, &info) == 0 && info.st_nlink == 0
    }

    func touch() { futimens(descriptor, nil) }

    /// The time in seconds since 1970.
    static var now: Int { time(nil) }

    // MARK: Content

    // Reads bytes. The result is shorter at the end of the file.
    func read(_ count: Int, at offset: Int64) throws -> Data {
        var data = Data(count: count)
        let got = try unsafe data.withUnsafeMutableBytes { try unsafe read(into: $0, at: offset) }
        return data.prefix(got)
    }

    // Reads numbers of eight bytes. Numbers after the end of the file are zero.
    func numbers(_ count: Int, at offset: Int64) throws -> [UInt64] {
        var numbers = [UInt64](repeating: 0, count: count)
        _ = try unsafe numbers.withUnsafeMutableBytes { try unsafe read(into: $0, at: offset) }
        return numbers.map(UInt64.init(littleEndian:))
    }

    private func read(into bytes: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        var done = 0
        while done < bytes.count {
            let got = unsafe pread(
                descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done,
                off_t(offset + Int64(done)))
            if got == 0 { break }
            if got > 0 {
                done += got
            } else if errno != EINTR {
                throw FileFault("read a file of the cache")
            }
        }
        return done
    }

    func write(_ bytes: some ContiguousBytes, at offset: Int64) throws {
        try unsafe bytes.withUnsafeBytes {
            try unsafe writeWhole(
                $0, to: descriptor, at: offset, action: "write a file of the cache")
        }
    }

    func write(_ numbers: [UInt64], at offset: Int64) throws {
        try unsafe numbers.map(\.littleEndian).withUnsafeBytes {
            try unsafe write(Data($0), at: offset)
        }
    }

    func resize(to size: Int64) throws {
        while ftruncate(descriptor, off_t(size)) != 0 {
            if errno != EINTR { throw FileFault("resize a file of the cache") }
        }
    }
}
