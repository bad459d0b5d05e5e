// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import TurnpikeCore
import TurnpikeSupport

/// What libcurl has of an upgraded connection: a handle, and a multi handle of its own.
// SAFETY: while it connects, only the thread of ``UpgradeLoop`` uses it. Then only the holder of the
// lock of ``CurlUpgrade`` does, and after it is taken out of there, only the code that took it.
struct UpgradeLink: @unchecked Sendable {
    /// Bytes to be sent, which stay at their address: libcurl must be offered the same ones again.
    // SAFETY: the memory is its own.
    @safe final class Chunk: @unchecked Sendable {
        fileprivate let memory: UnsafeMutableRawBufferPointer
        fileprivate var sent = 0

        init(_ bytes: Data) {
            unsafe memory = .allocate(byteCount: bytes.count, alignment: 1)
            unsafe memory.copyBytes(from: bytes)
        }

        deinit { unsafe memory.deallocate() }

        var isSent: Bool { unsafe sent == memory.count }
    }

    /// What the connection has given or taken.
    enum Progress<Amount> {
        case moved(Amount)
        /// Nothing now.
        case later
        case failed
    }

    private let handle: CurlHandle
    private let loop: CurlLoop

    /// Begins to connect.
    /// - Throws: The errors of an engine for a transfer that cannot begin.
    init(_ transfer: CurlTransfer, _ options: CurlOptions) throws {
        loop = try CurlLoop(options.limits)
        var made: CurlHandle?
        do {
            handle = try loop.makeHandle(options)
            made = handle
            if let trust = transfer.trust { try options.apply(trust, to: handle) }
            var code = unsafe tpc_upgrade_prepare(handle.pointer)
            if code == 0 { code = handle.begin(transfer) }
            if code != 0 {
                throw CurlFault.of(code, text: handle.faultText(code), handle: handle, transfer)
            }
        } catch {
            made?.end()
            made?.free()
            loop.free()
            throw error
        }
    }

    /// Closes the connection.
    func free() {
        handle.end()
        handle.free()
        loop.free()
    }

    // MARK: Before it is connected

    /// What can be read from when libcurl is to go on, and when it is to do so at the latest.
    var wait: (descriptor: Int32, due: Int64) { (loop.descriptor, loop.due) }

    /// Lets libcurl go on.
    /// - Returns: The socket, and when things happened, once there is a connection; nil before.
    func connect(_ transfer: CurlTransfer) throws -> (socket: Int32, times: CurlTimes)? {
        loop.wait(0)
        loop.beginIteration()
        loop.act()
        loop.runTimers()
        if loop.takeRefusal() { handle.nudge() }
        loop.endIteration()
        while loop.nextReady() != nil {}
        guard let code = handle.result else { return nil }
        let socket = code == 0 ? unsafe tpc_upgrade_socket(handle.pointer) : -1
        guard socket >= 0 else {
            throw CurlFault.of(code, text: handle.faultText(code), handle: handle, transfer)
        }
        // From now on the thread of ``UpgradeLoop`` waits for the socket itself. What this loop knows of its
        // sockets has room for every descriptor of the process.
        loop.endWaiting()
        return (socket, handle.times)
    }

    // MARK: Once it is connected

    /// Returns bytes; none at the end.
    func read(upTo maxBytes: Int) -> Progress<Data> {
        var bytes = Data(count: maxBytes)
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe tpc_upgrade_read(handle.pointer, $0.baseAddress, $0.count)
        }
        if count == Int(TPC_READ_WAIT) { return .later }
        return count < 0 ? .failed : .moved(bytes.prefix(count))
    }

    /// Returns how many bytes it has taken.
    func send(_ chunk: Chunk) -> Progress<Int> {
        let rest = unsafe UnsafeRawBufferPointer(rebasing: chunk.memory[chunk.sent...])
        let count = unsafe tpc_upgrade_write(handle.pointer, rest.baseAddress, rest.count)
        if count == Int(TPC_READ_WAIT) { return .later }
        if count < 0 { return .failed }
        chunk.sent += count
        return .moved(count)
    }

    /// Ends the sending side of a connection without TLS.
    func endSending() { unsafe tpc_upgrade_finish(handle.pointer) }
}
