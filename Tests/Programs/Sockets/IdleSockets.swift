// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import Turnpike
import TurnpikeCurl
import TurnpikeWebSocket

/// What idle sockets cost: each kind in a process of its own.
struct IdleSockets {
    enum Kind: String, CaseIterable {
        /// Connections of libcurl alone (CURLOPT_CONNECT_ONLY), on which nothing was sent, made by
        /// curl_easy_perform, which blocks.
        case easy
        /// The same, with a multi handle each, as an upgraded connection needs it.
        case multi
        /// Upgraded connections of the transport.
        case upgrades
        case sockets
    }

    private let kind: Kind
    private let port: String

    init(_ kind: Kind, port: String) { (self.kind, self.port) = (kind, port) }

    static func report(_ count: Int, _ server: SocketServer) throws -> JSONValue {
        var bytes: [String: Int] = [:]
        for kind in Kind.allCases {
            let child = try ChildProcess(
                CommandLine.arguments[0],
                ["--idle", "\(count)", "--of", kind.rawValue, "--port", server.port], output: .pipe)
            guard let size = child.readLine().flatMap({ Int($0) }) else {
                throw SocketFailure("no figure of \(kind)")
            }
            bytes[kind.rawValue] = size
        }
        let sockets = bytes["sockets"] ?? 0
        return [
            "program": "sockets", "idle": .number(JSONNumber(count)),
            "bytes": .object(JSONObject(bytes.map { ($0, .number(JSONNumber($1))) })),
            "beyondEasy": .number(JSONNumber(sockets - (bytes["easy"] ?? 0))),
            "beyondMulti": .number(JSONNumber(sockets - (bytes["multi"] ?? 0))),
        ]
    }

    /// The resident bytes of each socket, of so many.
    func bytes(_ count: Int) async throws -> Int {
        var limit = rlimit()
        unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        var kept: [Any] = []
        var configuration = CurlTransport.Configuration()
        configuration.maxConnectionsPerHost = count + 1
        let client = Client(
            transport: try CurlTransport(configuration: configuration), stack: [])
        // What all of them need is there after the first.
        kept.append(try await open(client))
        let before = Self.resident
        for _ in 0..<count { kept.append(try await open(client)) }
        let after = Self.resident
        kept = []
        await client.shutdown()
        return (after - before) / count
    }

    private func open(_ client: Client) async throws -> Any {
        let url = "http://127.0.0.1:\(port)/"
        switch kind {
        case .easy, .multi: return try Self.connect(url, byMulti: kind == .multi)
        case .upgrades:
            var call = client.get(Target(url)).header("Sec-WebSocket-Version", "13")
                .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
            call.request.options.upgrade = "websocket"
            guard let connection = try await call.response().upgradedConnection else {
                throw SocketFailure("no upgrade")
            }
            return connection
        case .sockets: return try await client.webSocket(url)
        }
    }

    // The functions are variadic in C, which is all the same for integers and pointers on Linux.
    private static func connect(_ url: String, byMulti: Bool) throws -> Any {
        typealias Make = @convention(c) () -> OpaquePointer?
        typealias SetText = @convention(c) (OpaquePointer?, CInt, UnsafePointer<CChar>) -> CInt
        typealias SetNumber = @convention(c) (OpaquePointer?, CInt, CLong) -> CInt
        typealias Perform = @convention(c) (OpaquePointer?) -> CInt
        typealias Add = @convention(c) (OpaquePointer?, OpaquePointer?) -> CInt
        typealias Act = @convention(c) (OpaquePointer?, UnsafeMutablePointer<CInt>) -> CInt
        let library = unsafe dlopen("libcurl.so.4", RTLD_NOW)
        func find<Function>(_ name: String, as type: Function.Type) throws -> Function {
            guard let symbol = unsafe dlsym(library, name) else { throw SocketFailure(name) }
            return unsafe unsafeBitCast(symbol, to: type)
        }
        let handle = unsafe try find("curl_easy_init", as: Make.self)()
        let set = unsafe try find("curl_easy_setopt", as: SetNumber.self)
        _ = unsafe try find("curl_easy_setopt", as: SetText.self)(handle, 10_002, url)
        for (option, value) in [(141, 1), (99, 1)] as [(CInt, CLong)] {
            _ = unsafe set(handle, option, value)
        }
        if byMulti {
            let multi = unsafe try find("curl_multi_init", as: Make.self)()
            let act = unsafe try find("curl_multi_socket_all", as: Act.self)
            _ = unsafe try find("curl_multi_add_handle", as: Add.self)(multi, handle)
            var running: CInt = 1
            while running > 0 { _ = unsafe act(multi, &running) }
        } else if unsafe try find("curl_easy_perform", as: Perform.self)(handle) != 0 {
            throw SocketFailure("libcurl does not connect")
        }
        return unsafe handle as Any
    }

    private static var resident: Int {
        typealias Function = @convention(c) (Int) -> CInt
        if let symbol = unsafe dlsym(nil, "malloc_trim") {
            _ = unsafe unsafeBitCast(symbol, to: Function.self)(0)
        }
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
