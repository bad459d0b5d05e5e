// SPDX-License-Identifier: Apache-2.0

import CTurnpikeValkey
import Foundation
import Synchronization
import TurnpikeCore
import TurnpikeSupport

extension ValkeyEngine {
    private static let addressLimit = 8

    func connect(to node: Node, _ state: inout State) {
        let limit = configuration.connectLimit.wholeNanoseconds
        let connection = Connection(to: node, until: Poller.now.addingClamped(limit))
        node.connections.append(connection)
        let address = connection.address
        if let found = Self.resolve(address, isNumeric: true).addresses {
            return resolved(connection, found, nil, &state)
        }
        guard state.lookups.insert(address).inserted else { return }
        let thread = Thread { [self] in
            let (found, reason) = Self.resolve(address, isNumeric: false)
            withState { state in
                state.lookups.remove(address)
                if state.ending == .over { return }
                for connection in state.allNodes.flatMap(\.connections)
                where connection.life.state == .resolving && connection.address == address {
                    resolved(connection, found, reason, &state)
                }
                state.wake()
            }
        }
        thread.stackSize = 512 << 10
        thread.start()
    }

    private static func resolve(
        _ address: NodeAddress, isNumeric: Bool
    ) -> (addresses: [tpv_address]?, reason: String) {
        var found = [tpv_address](repeating: tpv_address(), count: addressLimit)
        var reason: UnsafePointer<CChar>?
        let count = unsafe found.withUnsafeMutableBufferPointer {
            unsafe tpv_resolve(
                address.host, address.port, isNumeric, $0.baseAddress, Int32($0.count), &reason)
        }
        guard count > 0 else {
            return (nil, unsafe reason.map { unsafe String(cString: $0) } ?? "no address")
        }
        return (Array(found.prefix(Int(count))), "")
    }

    private func resolved(
        _ connection: Connection, _ addresses: [tpv_address]?, _ reason: String?,
        _ state: inout State
    ) {
        guard let addresses, !addresses.isEmpty else {
            let text =
                "the host \(connection.address) could not be found: \(reason ?? "no address")"
            return fail(connection, &state, ClientError(.dns, text))
        }
        connection.candidates = addresses[...]
        tryNext(connection, &state, .hostFound, because: nil)
    }

    func tryNext(
        _ connection: Connection, _ state: inout State, _ event: ConnectionStateMachine.Event,
        because code: Int32?
    ) {
        guard case .connect = connection.life.handle(event) else { return }
        var code = code
        if connection.openNext(&code) {
            let now = Poller.now
            let share = (connection.deadline - now) / Int64(connection.candidates.count + 1)
            connection.addressDeadline = min(
                now.addingClamped(max(share, 100_000_000)), connection.deadline)
            return
        }
        let reason = code.map { Self.text(ofError: Int64($0)) } ?? "no address is left"
        let text =
            "no connection to \(connection.address): \(reason); is the server running there?"
        fail(connection, &state, ClientError(.connection, text))
    }

    func connected(_ connection: Connection, _ state: inout State) {
        let (fd, code) = (connection.fd, tpv_connect_error(connection.fd))
        if code != 0 { return tryNext(connection, &state, .addressFailed, because: code) }
        let channel = tls?.channel(fd, host: connection.address.host)
        connection.channel = Channel(fd, channel, configuration.replyLimits)
        switch connection.life.handle(.connected(isSecure: tls != nil)) {
        case .handshake: handshake(connection, &state)
        case .greet: beginGreeting(connection, &state)
        default: break
        }
    }

    func handshake(_ connection: Connection, _ state: inout State) {
        let progress =
            connection.channel?.tls?.handshake() ?? .failed("there is no memory for a connection")
        switch progress {
        case .done:
            if case .greet = connection.life.handle(.secured) { beginGreeting(connection, &state) }
        case .wantsRead: _ = connection.life.handle(.handshakeWaits(toWrite: false))
        case .wantsWrite: _ = connection.life.handle(.handshakeWaits(toWrite: true))
        case .failed(let reason):
            let advice =
                connection.isKnown
                ? "" : "; if the server has no TLS, write redis:// instead of rediss:// in the URL"
            let text =
                "the TLS handshake with \(connection.address) failed: \(ValkeyFault.shown(reason))"
            fail(connection, &state, ClientError(.tls, text + advice))
        }
    }

    private func beginGreeting(_ connection: Connection, _ state: inout State) {
        func ask(_ step: GreetingStep, _ bytes: [UInt8]) {
            connection.greeting.append(step)
            connection.append(bytes)
        }
        if let credentials = url.credentials { ask(.auth, Wire.bytes(credentials.arguments) ?? []) }
        if url.database != 0 { ask(.select, Wire.bytes("SELECT", String(url.database))) }
        ask(.slots, Wire.slots)
        ask(.role, Wire.bytes("ROLE"))
        ask(.ping, Wire.bytes("PING"))
        state.figures.connects += 1
    }

    func greet(_ connection: Connection, _ reply: ValkeyValue, _ state: inout State) {
        guard let step = connection.greeting.popFirst() else { return }
        let node = connection.node
        if case .error(let text) = reply {
            if let fault = ValkeyFault.greeting(text, step: step, at: "\(connection.address)") {
                return fail(connection, &state, fault)
            }
        } else if step == .slots, let table = SlotTable(reply, by: connection.address) {
            let isFirst = state.table == nil
            state.take(table)
            if isFirst { state.wantNodes(at: Poller.now) }
        } else if step == .role, state.table == nil, node === state.home,
            let fault = checkRole(connection, reply)
        {
            close(connection, &state, fault)
            return pause(node, fault, Poller.now, &state)
        }
        if connection.greeting.isEmpty { ready(connection, &state) }
    }

    /// - Returns: The reason why the server must not get commands, or nil.
    private func checkRole(_ connection: Connection, _ reply: ValkeyValue) -> ClientError? {
        let (node, address) = (connection.node, connection.address)
        guard case .array(let parts) = reply, case .bytes(let role)? = parts.first else {
            return nil
        }
        if role.elementsEqual("sentinel".utf8) {
            node.advance(from: address)
            return ClientError(
                .configuration,
                "\(address) is a sentinel; give the address of the primary in the URL")
        }
        guard role.elementsEqual("slave".utf8) else { return nil }
        if parts.count >= 3, case .bytes(let host) = parts[1], case .integer(let port) = parts[2],
            !host.isEmpty,
            let primary = NodeAddress(
                named: String(decoding: host, as: UTF8.self), port: port, by: address)
        {
            node.follow(primary, from: address)
        } else {
            node.advance(from: address)
        }
        return ClientError(
            .connection,
            "\(address) is a replica, and its primary was not found; give the primary's"
                + " address, or all addresses with commas between them")
    }

    private func ready(_ connection: Connection, _ state: inout State) {
        _ = connection.life.handle(.greeted)
        state.figures.connections += 1
        connection.node.succeed(at: connection.address)
        for command in state.takeLine(of: connection.node) where !command.pending.isOver {
            // The slots may have become known during the wait of the command.
            let target = state.node(for: command.route)
            guard let connection = target.bestConnection else {
                target.wantedAt = Poller.now
                state.append(command, to: target)
                continue
            }
            append(
                command.bytes, command.route, command.pending, to: connection, Poller.now, &state)
            leave(connection, &state)
        }
    }
}
