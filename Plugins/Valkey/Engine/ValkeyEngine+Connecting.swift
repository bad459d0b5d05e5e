// SPDX-License-Identifier: Apache-2.0

import CTurnpikeValkey
import Foundation
import Synchronization
import TurnpikeCore
import TurnpikeSupport

extension ValkeyEngine {
    private static let addressLimit = 8

    /// Begins to connect: looks the host up, on a thread that ends with that.
    func connect(_ link: Link, of node: Node, _ core: inout Core, _ outcomes: inout Outcomes) {
        link.address = node.address
        link.phase = .resolving
        link.connectDeadline = Poller.now.addingClamped(
            configuration.connectLimit.wholeNanoseconds)
        let address = link.address
        if let found = Self.resolve(address, isNumeric: true).addresses {
            return resolved(link, found, nil, &core, &outcomes)
        }
        guard core.lookups.insert(address).inserted else { return }
        let thread = Thread { [self] in
            let (found, reason) = Self.resolve(address, isNumeric: false)
            var outcomes = Outcomes()
            self.core.withLock { core in
                core.lookups.remove(address)
                if core.ending == .over { return }
                for link in core.allNodes.flatMap(\.links)
                where link.phase == .resolving && link.address == address {
                    resolved(link, found, reason, &core, &outcomes)
                }
                core.isAsleep = false
            }
            outcomes.resume()
            poller.wake()
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
        _ link: Link, _ addresses: [tpv_address]?, _ reason: String?, _ core: inout Core,
        _ outcomes: inout Outcomes
    ) {
        guard let addresses, !addresses.isEmpty else {
            let text = "the host \(link.address) could not be found: \(reason ?? "no address")"
            return fail(link, &core, ClientError(.dns, text), &outcomes)
        }
        link.candidates = addresses
        tryNext(link, &core, because: nil, &outcomes)
    }

    /// Begins to connect to the next address of the host.
    func tryNext(
        _ link: Link, _ core: inout Core, because code: Int32?, _ outcomes: inout Outcomes
    ) {
        var code = code
        // A writer may still hold the descriptor.
        link.tls = nil
        if !link.isWriting { release(link) }
        while !link.isWriting, let address = link.candidates.first {
            link.candidates.removeFirst()
            let fd = unsafe withUnsafePointer(to: address) { unsafe tpv_connect($0) }
            if fd >= 0 {
                link.fd = fd
                link.phase = .connecting
                let now = Poller.now
                let left = link.connectDeadline - now
                let share = max(left / Int64(link.candidates.count + 1), 100_000_000)
                link.addressDeadline = min(now.addingClamped(share), link.connectDeadline)
                return
            }
            code = -fd
        }
        let reason = code.map { Self.text(ofError: Int64($0)) } ?? "no address is left"
        let text = "no connection to \(link.address): \(reason); is the server running there?"
        fail(link, &core, ClientError(.connection, text), &outcomes)
    }

    /// The socket is connected, or could not be.
    func connected(_ link: Link, _ tls: TLSContext?, _ core: inout Core) {
        if link.phase == .connecting {
            let code = tpv_connect_error(link.fd)
            if code != 0 {
                // Told by the time keeper, which has where to put what fails.
                link.connectFault = code
                return
            }
        }
        if let tls, !secured(link, tls) { return }
        do {
            link.reader = try ReplyReader(configuration.replyLimits)
        } catch {
            link.connectFault = ENOMEM
            return
        }
        greetingBegins(link)
        core.figures.connects += 1
        swap(&link.output, &link.sending)
        link.isBlocked = true
    }

    /// - Returns: Whether the handshake is done.
    private func secured(_ link: Link, _ tls: TLSContext) -> Bool {
        link.phase = .securing
        if link.tls == nil { link.tls = tls.channel(link.fd, host: link.address.host) }
        switch link.tls?.handshake() ?? .failed("there is no memory for a connection") {
        case .done:
            link.wantsWrite = false
            return true
        case .wantsRead: link.wantsWrite = false
        case .wantsWrite: link.wantsWrite = true
        case .failed(let text): link.securityFault = text
        }
        return false
    }

    private func greetingBegins(_ link: Link) {
        link.phase = .greeting
        link.hasReceived = false
        link.greeting = []
        link.greetingPlace = 0
        func ask(_ step: GreetingStep, _ bytes: [UInt8]) {
            link.greeting.append(step)
            link.output += bytes
        }
        link.output.removeAll()
        if let credentials = url.credentials { ask(.auth, Wire.bytes(credentials.arguments)) }
        if url.database != 0 { ask(.select, Wire.bytes("SELECT", String(url.database))) }
        ask(.slots, Wire.slots)
        ask(.role, Wire.bytes("ROLE"))
        ask(.ping, Wire.bytes("PING"))
    }

    /// Takes a reply to what is asked first.
    func greet(
        _ link: Link, _ reply: ValkeyValue, _ core: inout Core, _ outcomes: inout Outcomes
    ) {
        guard link.greetingPlace < link.greeting.count, let node = node(of: link, core) else {
            return
        }
        let step = link.greeting[link.greetingPlace]
        link.greetingPlace += 1
        if case .error(let text) = reply {
            if let fault = ValkeyFault.greeting(text, step: step, at: "\(link.address)") {
                return fail(link, &core, fault, &outcomes)
            }
        } else if step == .slots, let table = SlotTable(reply, by: link.address) {
            let isFirst = core.table == nil
            core.take(table)
            if isFirst {
                core.wantNodes(at: Poller.now, connections: configuration.connections)
            }
        } else if step == .role, core.table == nil, node === core.home,
            let fault = checkRole(link, reply, node)
        {
            close(link, of: node, &core, fault, &outcomes)
            return pause(node, fault, Poller.now, &core, &outcomes)
        }
        if link.greetingPlace == link.greeting.count { ready(link, of: node, &core, &outcomes) }
    }

    /// - Returns: Why the server is none to send commands to.
    private func checkRole(_ link: Link, _ reply: ValkeyValue, _ node: Node) -> ClientError? {
        guard case .array(let parts) = reply, case .bytes(let role)? = parts.first else {
            return nil
        }
        if role.elementsEqual("sentinel".utf8) {
            node.advance(from: link.address)
            return ClientError(
                .configuration,
                "\(link.address) is a sentinel; give the address of the primary in the URL")
        }
        guard role.elementsEqual("slave".utf8) else { return nil }
        if parts.count >= 3, case .bytes(let host) = parts[1], case .integer(let port) = parts[2],
            !host.isEmpty,
            let primary = NodeAddress(
                named: String(decoding: host, as: UTF8.self), port: port, by: link.address)
        {
            node.follow(primary, from: link.address)
        } else {
            node.advance(from: link.address)
        }
        return ClientError(
            .connection,
            "\(link.address) is a replica, and its primary was not found; give the primary's"
                + " address, or all addresses with commas between them")
    }

    private func ready(
        _ link: Link, of node: Node, _ core: inout Core, _ outcomes: inout Outcomes
    ) {
        link.phase = .ready
        link.knownAddress = link.address
        link.connectDeadline = .max
        link.addressDeadline = .max
        core.figures.connections += 1
        node.fault = nil
        node.failures = 0
        node.tried = 0
        node.retryAt = .min
        let line = node.line
        node.line = []
        for command in line {
            core.waiting -= 1
            core.lineBytes -= command.bytes.count
            if command.pending.isOver { continue }
            // The slots may have been told meanwhile.
            let target = core.node(for: command.route, connections: configuration.connections)
            guard let link = target.bestLink else {
                target.wantedAt = Poller.now
                target.line.append(command)
                core.waiting += 1
                core.lineBytes += command.bytes.count
                continue
            }
            unsafe command.bytes.withUnsafeBytes {
                unsafe append($0, command.route, command.pending, to: link, Poller.now, &core)
            }
            if send(link, &core) { poller.wake() }
        }
    }
}
