// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// An easy handle of libcurl and its received bytes, used under the engine's lock.
/// `CTurnpikeCurl.h` describes the functions.
// SAFETY: the pointer is valid from `init` to `free`, which is the engine's last call.
@safe struct CurlHandle {
    let pointer: UnsafeMutablePointer<tpc_transfer>

    init(_ pointer: UnsafeMutablePointer<tpc_transfer>) { unsafe self.pointer = pointer }

    init?(loop: OpaquePointer) {
        guard
            let pointer = unsafe tpc_transfer_create(
                loop, readContent, addTrailers, judgeAddress)
        else { return nil }
        unsafe self.pointer = pointer
        CurlHandles.count.add(1, ordering: .relaxed)
    }

    func free() {
        let trust = trust
        keep(nil)
        unsafe tpc_transfer_free(pointer)
        withExtendedLifetime(trust) {}
        CurlHandles.count.subtract(1, ordering: .relaxed)
    }

    // MARK: One transfer

    // Adds the handle to the loop, and retains the transfer. Returns libcurl's code, 0 for success.
    func begin(_ transfer: CurlTransfer) -> Int32 {
        unsafe pointer.pointee.owner = Unmanaged.passRetained(transfer).toOpaque()
        return unsafe transfer.request.withPointers(
            version: transfer.version, isShared: transfer.sharedHost != nil
        ) { request in
            var request = unsafe request
            if transfer.needsConnection { unsafe request.traits |= Int32(TPC_FRESH) }
            return unsafe tpc_transfer_begin(pointer, &request)
        }
    }

    /// Removes the handle from the loop, and releases the transfer.
    func end() {
        let owner = unsafe pointer.pointee.owner
        unsafe tpc_transfer_end(pointer)
        if let owner = unsafe owner { unsafe Unmanaged<CurlTransfer>.fromOpaque(owner).release() }
    }

    var transfer: CurlTransfer? {
        guard let owner = unsafe pointer.pointee.owner else { return nil }
        return unsafe Unmanaged<CurlTransfer>.fromOpaque(owner).takeUnretainedValue()
    }

    var hasHead: Bool { unsafe pointer.pointee.phase != TPC_PHASE_HEAD }

    func takeHead() -> HeadBytes {
        var count = 0
        let start = unsafe tpc_buffer_take(&pointer.pointee.head, &count)
        return unsafe HeadBytes(start: start, count: count)
    }

    var hasTrailers: Bool { unsafe pointer.pointee.trailers.count > 0 }

    // Passes the trailer fields to the exchange. Returns the fault of the fields, or nil.
    func passTrailers(to exchange: Exchange) -> (any Error)? {
        let trailers = unsafe pointer.pointee.trailers
        let section = unsafe UnsafeRawBufferPointer(start: trailers.bytes, count: trailers.count)
            .assumingMemoryBound(to: UInt8.self)
        switch unsafe CurlHead.trailers(of: section) {
        case .success(let trailers):
            exchange.receive(trailers: trailers)
            return nil
        case .failure(let error): return error
        }
    }

    var bodyCount: Int { unsafe pointer.pointee.body.count }

    func takeBody() -> BodyChunk {
        var count = 0
        guard let bytes = unsafe tpc_buffer_take(&pointer.pointee.body, &count) else {
            return .data(Data())
        }
        return unsafe .foreign(UnownedBuffer(start: bytes, count: count, giveBack: giveBack))
    }

    /// libcurl's code, or nil while the transfer runs.
    var result: Int32? {
        let result = unsafe pointer.pointee.result
        guard Int(result) == TPC_RUNNING else { return result }
        // libcurl would send the request again, and still waits for a connection.
        return isLost || isRefused || needsHTTP1 || skipsContent ? CurlFault.aborted : nil
    }
    var skipsContent: Bool { unsafe pointer.pointee.cause == TPC_CAUSE_SKIPPED }
    var isHeadTooLarge: Bool { unsafe pointer.pointee.cause == TPC_CAUSE_TOO_LARGE }
    var wasCut: Bool { unsafe tpc_transfer_was_cut(pointer) }
    var sends: Int { unsafe Int(pointer.pointee.sends) }

    var hadPlace: Bool { unsafe tpc_transfer_had_place(pointer) }

    var lacksAllowedAddress: Bool { unsafe pointer.pointee.cause == TPC_CAUSE_ADDRESS }
    var lacksDescriptors: Bool { unsafe pointer.pointee.cause == TPC_CAUSE_NO_DESCRIPTORS }

    var times: CurlTimes {
        var times = unsafe tpc_times()
        unsafe tpc_transfer_times(pointer, &times)
        return unsafe CurlTimes(
            lookup: times.lookup, connect: times.connect, handshake: times.handshake,
            ready: times.ready, firstByte: times.first_byte, isReused: times.is_reused,
            carriesMany: carriesMany, peer: times.peer.map { unsafe String(cString: $0) },
            connection: unsafe tpc_transfer_connection(pointer))
    }

    // MARK: Pauses

    private var paused: Int32 { unsafe pointer.pointee.paused }
    var isReceivePaused: Bool { paused & Int32(TPC_PAUSE_RECEIVING) != 0 }
    var isSendPaused: Bool { paused & Int32(TPC_PAUSE_SENDING) != 0 }

    func setReceivePaused(_ isPaused: Bool) {
        let bit = Int32(TPC_PAUSE_RECEIVING)
        unsafe tpc_transfer_pause(pointer, isPaused ? paused | bit : paused & ~bit)
    }

    func resumeSending() {
        guard isSendPaused else { return }
        unsafe tpc_transfer_pause(pointer, paused & ~Int32(TPC_PAUSE_SENDING))
    }

    func nudge() { unsafe tpc_transfer_nudge(pointer) }

    // MARK: Options

    func setProxies(http: String?, https: String?) -> Int32 {
        unsafe tpc_set_proxies(pointer, http, https)
    }

    func set(_ option: Int, _ value: Int) -> Int32 {
        unsafe tpc_set_number(pointer, Int32(option), value)
    }

    func set(_ option: Int, _ text: String?) -> Int32 {
        unsafe tpc_set_text(pointer, Int32(option), text)
    }

    func set(_ option: Int, _ data: Data) -> Int32 {
        unsafe data.withUnsafeBytes { bytes in
            unsafe tpc_set_bytes(pointer, Int32(option), bytes.baseAddress, bytes.count, true)
        }
    }

    // Sets bytes without a copy. The bytes must stay valid until a new value or the end of the
    // handle.
    func set(_ option: Int, keeping bytes: UnsafeRawBufferPointer) -> Int32 {
        unsafe tpc_set_bytes(pointer, Int32(option), bytes.baseAddress, bytes.count, false)
    }

    /// The content of the trust files, to which libcurl refers.
    var trust: TrustFiles.Content? {
        guard let trust = unsafe pointer.pointee.trust else { return nil }
        return unsafe Unmanaged<TrustFiles.Content>.fromOpaque(trust).takeUnretainedValue()
    }

    /// Retains the content of the trust files while libcurl may read the content.
    func keep(_ trust: TrustFiles.Content?) {
        let old = unsafe pointer.pointee.trust
        unsafe pointer.pointee.trust = trust.map { unsafe Unmanaged.passRetained($0).toOpaque() }
        if let old = unsafe old { unsafe Unmanaged<TrustFiles.Content>.fromOpaque(old).release() }
    }

    func setOverrides(_ lines: [String]) -> Int32 {
        let text = lines.map { $0 + "\0" }.joined()
        return unsafe tpc_set_overrides(pointer, text, text.utf8.count)
    }
}

/// Numbers of easy handles and of bytes in this process, for searches for leaks.
public enum CurlHandles {
    fileprivate static let count = Atomic(0)

    /// The number of used and idle handles.
    public static var live: Int { count.load(ordering: .relaxed) }
    /// The maximum number of idle handles that an engine keeps for later transfers.
    public static let maxIdle = 256

    /// Returns the pages of unused memory to the system.
    public static func trimMemory() { tpc_trim() }

    /// The number of bytes in use that malloc's statistics do not count.
    public static var blockBytes: Int { tpc_blocks_bytes() }
}

/// The ends of a transfer's phases in microseconds since the begin, or 0 for missing phases.
struct CurlTimes: Sendable {
    let lookup, connect, handshake, ready, firstByte: Int64
    let isReused: Bool
    let carriesMany: Bool
    let peer: String?
    let connection: Int32
}

private let giveBack: @Sendable (UnsafeMutableRawPointer) -> Void = { unsafe tpc_free($0) }

private func readContent(
    owner: UnsafeMutableRawPointer?, bytes: UnsafeMutablePointer<CChar>?, room: Int
) -> Int {
    guard let owner = unsafe owner, let bytes = unsafe bytes else { return TPC_READ_FAIL }
    let transfer = unsafe Unmanaged<CurlTransfer>.fromOpaque(owner).takeUnretainedValue()
    guard let upload = transfer.upload else { return 0 }
    let target = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: room)
    switch unsafe upload.read(into: target) {
    case .bytes(let count): return count
    case .wait: return TPC_READ_WAIT
    case .failed: return TPC_READ_FAIL
    }
}

private func judgeAddress(
    owner: UnsafeMutableRawPointer?, address: UnsafePointer<UInt8>?, count: Int
) -> Bool {
    guard let owner = unsafe owner else { return false }
    let transfer = unsafe Unmanaged<CurlTransfer>.fromOpaque(owner).takeUnretainedValue()
    let bytes = unsafe UnsafeRawBufferPointer(start: address, count: count)
    return unsafe transfer.request.route?.allows(bytes) ?? true
}

private func addTrailers(owner: UnsafeMutableRawPointer?, list: UnsafeMutableRawPointer?) -> Bool {
    guard let owner = unsafe owner else { return false }
    let transfer = unsafe Unmanaged<CurlTransfer>.fromOpaque(owner).takeUnretainedValue()
    return (transfer.upload?.trailerLines ?? []).allSatisfy { unsafe tpc_trailer_add(list, $0) }
}

extension CurlHandle {
    /// The status with which a proxy refused to connect, or an equivalent status for SOCKS.
    var proxyStatus: HTTPStatus? {
        let status = unsafe tpc_transfer_connect_status(pointer)
        if status > 0 { return (200..<300).contains(status) ? nil : HTTPStatus(status) }
        return switch unsafe tpc_transfer_proxy_error(pointer) {
        case TPC_SOCKS_NO_METHOD, TPC_SOCKS_USER_REJECTED: 407
        case TPC_SOCKS_NOT_ALLOWED: 403
        case TPC_SOCKS_NO_ADDRESS_TYPE, TPC_SOCKS_NO_COMMAND: 501
        case TPC_SOCKS_EXPIRED: 504
        case TPC_SOCKS_REFUSED, TPC_SOCKS_FAILED, TPC_SOCKS_NO_HOST, TPC_SOCKS_NO_NETWORK: 502
        default: nil
        }
    }

    var isHTTP2: Bool { unsafe pointer.pointee.is_http2 }
    var isHTTP3: Bool { unsafe pointer.pointee.is_http3 }
    var carriesMany: Bool { isHTTP2 || isHTTP3 }
    var hasGoAway: Bool { unsafe tpc_transfer_has_goaway(pointer) }
    var isRefused: Bool { unsafe pointer.pointee.cause == TPC_CAUSE_REFUSED }
    var needsHTTP1: Bool { unsafe pointer.pointee.cause == TPC_CAUSE_NEEDS_HTTP1 }
    /// Whether the response has arrived with the whole content, even if the request failed.
    ///
    /// Over HTTP/2, a server may answer early and then end the stream (RFC 9113 §8.1). After a
    /// complete error response, libcurl ends the stream, and may report a reset by the server.
    func isWhole(_ result: Int32) -> Bool {
        if isWhole { return true }
        return result == CurlFault.http2Stream && isRefusal
            && faultText(result).contains("STREAM_CLOSED")
    }

    private var isWhole: Bool {
        guard hasHead, !isHeadTooLarge else { return false }
        let status = unsafe pointer.pointee.status
        if status == 204 || status == 304 { return true }
        let length = length
        return unsafe length >= 0 && pointer.pointee.received >= length
    }

    /// Whether the status is a redirection or an error, after which the server ignores the content.
    private var isRefusal: Bool { unsafe hasHead && pointer.pointee.status >= 300 }

    // Whether a redirection or an error of known length has arrived completely by HTTP/2. libcurl
    // then reads no more bytes for the transfer, not even a window update for the request.
    var isUnwanted: Bool { carriesMany && isRefusal && isWhole }

    private var length: Int64 { unsafe tpc_transfer_length(pointer) }
    var hasLength: Bool { length >= 0 }

    var isLost: Bool { unsafe pointer.pointee.cause == TPC_CAUSE_LOST }

    /// Whether the server refused all offered versions of HTTP (RFC 7301 §3.2).
    var wasOfferedNoVersion: Bool {
        guard result == CurlFault.tlsConnectError else { return false }
        let text = faultText(CurlFault.tlsConnectError)
        // The second text is from OpenSSL 1.1.
        return text.contains("application protocol") || text.contains("reason(1120)")
    }

    func faultText(_ code: Int32) -> String {
        let text = unsafe withUnsafeBytes(of: &pointer.pointee.error) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return unsafe text.isEmpty ? String(cString: tpc_error_text(pointer, code)) : text
    }
}
