import Foundation
import Synchronization
import TurnpikeCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// An open file of a disk store, read and written at positions.
final class CacheFile: Sendable {
    private let descriptor: CInt

    private init(descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Opens a file; nil if there is none.
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

    /// Makes a file that is not there yet, of mode 0600.
    static func new(_ name: String, in folder: Folder) throws -> CacheFile {
        CacheFile(descriptor: try folder.openFile(name, O_RDWR | O_CREAT | O_EXCL))
    }

    /// Opens a file, and makes it if there is none.
    static func shared(_ name: String, in folder: Folder) throws -> CacheFile {
        CacheFile(descriptor: try folder.openFile(name, O_RDWR | O_CREAT))
    }

    /// Takes the file's lock, which a process that ends gives back.
    /// - Parameter waiting: Whether to wait for it.
    /// - Returns: Whether it was taken.
    func lock(waiting: Bool = true) -> Bool {
        while flock(descriptor, waiting ? LOCK_EX : LOCK_EX | LOCK_NB) != 0 {
            if errno != EINTR { return false }
        }
        return true
    }

    /// Takes the file's lock, and waits for it for no longer than a time.
    ///
    /// A file that has waited in vain may take the lock yet, and gives it back as soon as nobody has
    /// the file any more: it is not to be used again.
    /// - Returns: Whether it was taken.
    func lock(within patience: Duration) -> Bool {
        if lock(waiting: false) { return true }
        let wait = LockWait()
        // The system bounds no such wait. It ends when whoever has the lock gives it back.
        DispatchQueue(label: "turnpike.cache.lock").async { [self] in
            wait.isTaken.store(lock(), ordering: .releasing)
            wait.end.signal()
        }
        guard wait.end.wait(timeout: .now() + patience / .seconds(1)) == .success else {
            return false
        }
        return wait.isTaken.load(ordering: .acquiring)
    }

    /// Takes the file's lock, if nobody has it for longer than a moment, as one does who has waited
    /// for it in vain before.
    func lockSoon() -> Bool {
        for _ in 0..<3 {
            if lock(waiting: false) { return true }
            usleep(1000)
        }
        return false
    }

    /// Lets other threads run first, which may be those that answer calls.
    ///
    /// Who writes behind the calls writes for milliseconds, and a busy machine lets it: long enough
    /// for who waits for an answer to give up looking and sleep.
    static func giveWay() { sched_yield() }

    func unlock() { flock(descriptor, LOCK_UN) }

    /// The size in bytes, and when the file was last used, in seconds since 1970.
    func state() throws -> (size: Int64, used: Int) {
        var info = stat()
        guard unsafe fstat(descriptor, &info) == 0 else { throw FileFault("look at a file") }
        return Self.state(info)
    }

    /// The state of a file that is not opened; nil if there is none.
    ///
    /// It takes no descriptor, of which there may be none left.
    static func state(of name: String, in folder: Folder) throws -> (size: Int64, used: Int)? {
        try folder.status(of: name).map(state)
    }

    private static func state(_ info: stat) -> (size: Int64, used: Int) {
        #if canImport(Darwin)
        return (Int64(info.st_size), info.st_mtimespec.tv_sec)
        #else
        return (Int64(info.st_size), info.st_mtim.tv_sec)
        #endif
    }

    /// Whether the file has gone from its folder.
    var isRemoved: Bool {
        var info = stat()
        return unsafe fstat(descriptor, &info) == 0 && info.st_nlink == 0
    }

    /// Remembers that the file was used now.
    func touch() { futimens(descriptor, nil) }

    /// The bytes at a position; fewer at the end of the file.
    func read(_ count: Int, at offset: Int64) throws -> Data {
        var data = Data(count: count)
        var done = 0
        while done < count {
            let got = unsafe data.withUnsafeMutableBytes { bytes in
                unsafe pread(
                    descriptor, bytes.baseAddress?.advanced(by: done), count - done,
                    off_t(offset + Int64(done)))
            }
            if got > 0 {
                done += got
            } else if got == 0 {
                return data.prefix(done)
            } else if errno != EINTR {
                throw FileFault("read a cached response")
            }
        }
        return data
    }

    func write(_ data: Data, at offset: Int64) throws {
        try unsafe data.withUnsafeBytes { try unsafe write($0, at: offset) }
    }

    func write(_ record: borrowing RecordWriter, at offset: Int64) throws {
        try unsafe record.withBytes { bytes in
            for start in stride(from: 0, to: bytes.count, by: Self.bytesAtOnce) {
                if start > 0 { Self.giveWay() }
                let end = min(start + Self.bytesAtOnce, bytes.count)
                try unsafe write(
                    UnsafeRawBufferPointer(rebasing: bytes[start..<end]),
                    at: offset + Int64(start))
            }
        }
    }

    private static let bytesAtOnce = 32 << 10

    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws {
        try unsafe writeWhole(
            bytes, to: descriptor, at: offset, action: "write a cached response")
    }

    /// The number of eight bytes at a position, or nil where it cannot be read.
    func number(at offset: Int64) -> UInt64? {
        var number: UInt64 = 0
        let got = unsafe withUnsafeMutableBytes(of: &number) { bytes in
            unsafe pread(descriptor, bytes.baseAddress, bytes.count, off_t(offset))
        }
        return got == 8 ? UInt64(littleEndian: number) : nil
    }

    /// Does something with a few numbers of eight bytes from a position on, zeros behind the end of
    /// the file, which have no memory of their own.
    func withNumbers<Value>(
        _ count: Int, at offset: Int64,
        _ action: (UnsafeMutableBufferPointer<UInt64>) throws -> Value
    ) throws -> Value {
        try unsafe withUnsafeTemporaryAllocation(of: UInt64.self, capacity: count) { numbers in
            unsafe numbers.initialize(repeating: 0)
            try unsafe read(numbers, at: offset)
            return try unsafe action(numbers)
        }
    }

    private func read(_ numbers: UnsafeMutableBufferPointer<UInt64>, at offset: Int64) throws {
        let got = unsafe pread(descriptor, numbers.baseAddress, 8 * numbers.count, off_t(offset))
        guard got >= 0 else { throw FileFault("read a file of the cache") }
        #if _endian(big)
        for index in numbers.indices { unsafe numbers[index] = numbers[index].littleEndian }
        #endif
    }

    func write(_ number: UInt64, _ other: UInt64, at offset: Int64) throws {
        let numbers = (number.littleEndian, other.littleEndian)
        try unsafe withUnsafeBytes(of: numbers) { try unsafe write($0, at: offset) }
    }

    func write(_ number: UInt64, at offset: Int64) throws {
        try unsafe withUnsafeBytes(of: number.littleEndian) { try unsafe write($0, at: offset) }
    }

    func write(_ numbers: [UInt64], at offset: Int64) throws {
        var numbers = numbers
        try unsafe numbers.withUnsafeMutableBufferPointer { try unsafe write($0, at: offset) }
    }

    /// Writes numbers, which may be others in memory after that.
    func write(_ numbers: UnsafeMutableBufferPointer<UInt64>, at offset: Int64) throws {
        #if _endian(big)
        for index in numbers.indices { unsafe numbers[index] = numbers[index].littleEndian }
        #endif
        try unsafe write(UnsafeRawBufferPointer(numbers), at: offset)
    }

    /// Cuts the file off, or fills it up with zeros.
    func resize(to size: Int64) throws {
        while ftruncate(descriptor, off_t(size)) != 0 {
            if errno != EINTR { throw FileFault("resize a file of the cache") }
        }
    }

    /// The present in seconds since 1970, for what ``state()`` is compared with.
    static var now: Int { time(nil) }
}

/// What comes of a wait for a lock.
private final class LockWait: Sendable {
    let end = DispatchSemaphore(value: 0)
    let isTaken = Atomic(false)
}
