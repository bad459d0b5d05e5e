// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TurnpikeSupport

#if canImport(Network)
import Network
#endif

/// The state of the interfaces according to the system.
enum SystemPath {
    /// Returns the interfaces that are up and running, and have an address that is not link-local.
    static func current() -> NetworkPath? {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard unsafe getifaddrs(&first) == 0 else { return nil }
        defer { unsafe freeifaddrs(first) }
        var names: Set<String> = []
        var entry = unsafe first
        while let address = unsafe entry {
            defer { unsafe entry = address.pointee.ifa_next }
            let flags = unsafe Int32(bitPattern: UInt32(address.pointee.ifa_flags))
            let wanted = Int32(IFF_UP) | Int32(IFF_RUNNING)
            guard flags & wanted == wanted, flags & Int32(IFF_LOOPBACK) == 0,
                unsafe isRoutable(address.pointee.ifa_addr)
            else { continue }
            unsafe names.insert(String(cString: address.pointee.ifa_name))
        }
        return NetworkPath(interfaces: Array(names))
    }

    private static func isRoutable(_ address: UnsafeMutablePointer<sockaddr>?) -> Bool {
        guard let address = unsafe address else { return false }
        switch unsafe Int32(address.pointee.sa_family) {
        case AF_INET: return true
        case AF_INET6:
            // Addresses in fe80::/10 are link-local.
            let bytes = UnsafeRawPointer(address)
            let offset = MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr) ?? 8
            let (high, low) = unsafe (
                bytes.load(fromByteOffset: offset, as: UInt8.self),
                bytes.load(fromByteOffset: offset + 1, as: UInt8.self)
            )
            return !(high == 0xFE && low & 0xC0 == 0x80)
        default: return false
        }
    }

    #if os(Linux)
    /// Returns a source that reports changes with rtnetlink(7), or nil if rtnetlink is not
    /// available.
    static func source(_ handle: @escaping @Sendable (NetworkPath) -> Void) -> (any PathSource)? {
        NetlinkSource(handle)
    }
    #elseif canImport(Network)
    static func source(_ handle: @escaping @Sendable (NetworkPath) -> Void) -> (any PathSource)? {
        let monitor = NWPathMonitor()
        monitor.pathUpdateHandler = { path in
            let names = path.status == .satisfied ? path.availableInterfaces.map(\.name) : []
            handle(NetworkPath(interfaces: names))
        }
        monitor.start(queue: DispatchQueue(label: "turnpike.reachability"))
        return AppleSource(monitor: monitor)
    }

    private struct AppleSource: PathSource {
        let monitor: NWPathMonitor
        func stop() { monitor.cancel() }
    }
    #else
    static func source(_ handle: @escaping @Sendable (NetworkPath) -> Void) -> (any PathSource)? {
        nil
    }
    #endif
}

#if os(Linux)
/// A socket on which the kernel reports changed links, addresses and routes.
private final class NetlinkSource: PathSource {
    // SAFETY: a dispatch source may be used from any thread.
    private struct Locked: @unchecked Sendable { let source: any DispatchSourceRead }

    private let box: Locked

    // The kernel's constants, because the module cannot import the C headers that define them.
    private static let family: Int32 = 16
    private static let groups: UInt32 = 0x1 | 0x10 | 0x100 | 0x40 | 0x400

    init?(_ handle: @escaping @Sendable (NetworkPath) -> Void) {
        #if canImport(Musl)
        let type = SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK
        #else
        let type = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        #endif
        let descriptor = socket(Self.family, type, 0)
        guard descriptor >= 0 else { return nil }
        // The fields of struct sockaddr_nl: family, padding, port (chosen by the kernel), groups.
        var address: (UInt16, UInt16, UInt32, UInt32) = (UInt16(Self.family), 0, 0, Self.groups)
        let bound = unsafe withUnsafeBytes(of: &address) { bytes -> Int32 in
            guard let base = bytes.baseAddress else { return -1 }
            return unsafe bind(
                descriptor, base.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        guard bound == 0 else {
            close(descriptor)
            return nil
        }
        let queue = DispatchQueue(label: "turnpike.reachability")
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler {
            // The code ignores the content of the messages, and reads the current state instead.
            var buffer = [UInt8](repeating: 0, count: 8192)
            while unsafe recv(descriptor, &buffer, buffer.count, 0) > 0 {}
            if let path = SystemPath.current() { handle(path) }
        }
        source.setCancelHandler { close(descriptor) }
        source.activate()
        // A change before `bind` has sent no message.
        queue.sync { if let path = SystemPath.current() { handle(path) } }
        box = Locked(source: source)
    }

    func stop() { box.source.cancel() }
}
#endif
