// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import TurnpikeCore
import TurnpikeSupport

/// The libcurl handle of an upgraded connection, with a separate multi handle.
// SAFETY: during the connect, only the thread of ``UpgradeLoop`` uses the link. After that, only
// the owner of ``CurlUpgrade``'s lock uses the link. After the removal from ``CurlUpgrade``, only
// the remover uses the link.
struct UpgradeLink: @unchecked Sendable {
    /// Bytes to send at a fixed address, because libcurl must get the same bytes again.
    // SAFETY: the chunk owns the memory.
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

    enum Progress<Amount> {
        case moved(Amount)
        case later
        case failed
    }

    private let handle: CurlHandle
    private let loop: CurlLoop

    /// - Throws: The errors of an engine for a transfer that cannot begin.
    init(_ transfer: CurlTransfer, _ options: CurlOptions) throws {
        var limits = options.limits
        // TLS sessions are not shared, because the loop has only one connection.
        limits.shares_sessions = false
        loop = try CurlLoop(limits, options.library)
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

    func free() {
        handle.end()
        handle.free()
        loop.free()
    }

    // MARK: Before the connection is ready

    /// A descriptor that is readable when libcurl has work, and the latest time to call libcurl.
    var wait: (descriptor: Int32, due: Int64) { (loop.descriptor, loop.due) }

    // Lets libcurl continue. Returns the socket and the times of the phases, or nil before the
    // connection is ready.
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
        // The thread of ``UpgradeLoop`` now waits for the socket itself. The loop's table of
        // sockets would waste memory, with an entry for every descriptor up to the highest.
        loop.endWaiting()
        return (socket, handle.times)
    }

    // MARK: After the connection is ready

    /// Reads bytes, and returns empty data at the end.
    func read(upTo maxBytes: Int) -> Progress<Data> {
        let room = UnsafeMutableRawPointer.allocate(byteCount: maxBytes, alignment: 1)
        defer { unsafe room.deallocate() }
        let count = unsafe tpc_upgrade_read(handle.pointer, room, maxBytes)
        if count == Int(TPC_READ_WAIT) { return .later }
        return unsafe count < 0 ? .failed : .moved(Data(bytes: room, count: count))
    }

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
