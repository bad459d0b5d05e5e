// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// Resolves names with the system (`getaddrinfo`): hosts file, DNS and other configured sources.
///
/// The resolver has its own threads, at most `width`, because a lookup blocks a thread and cannot
/// be cancelled. Calls for the same name share a lookup. If all threads are busy, lookups wait. If
/// 1024 names are waiting, a call for another name fails with
/// ``/TurnpikeCore/ClientError/Code/overloaded``. A call can stop waiting at any time. The resolver
/// keeps a result for 10 seconds, for up to 1024 names.
public final class SystemHostResolver: HostResolver {
    private struct Question {
        let name: String
        let begin: MonotonicInstant
        let answer = SharedValue<[IPAddress]>()
    }

    private struct State {
        var running = 0
        var waiting: [Question] = []
        var asked: [String: Question] = [:]
        var known: [String: (addresses: [IPAddress], until: MonotonicInstant)] = [:]
    }

    private enum Finding {
        case known([IPAddress])
        case asked(Question, runsNow: Bool)
    }

    let width: Int
    private let queue = DispatchQueue(
        label: "turnpike.resolver", qos: .userInitiated, attributes: .concurrent)
    private let state = Mutex(State())
    private let keeping: Duration
    private let ask: @Sendable (String) throws -> [IPAddress]

    private static let capacity = 1024

    /// Creates a resolver.
    /// - Parameters:
    ///   - width: The maximum number of lookups at the same time, at least one.
    ///   - keeping: How long the resolver keeps the addresses of a name.
    public convenience init(width: Int = 8, keeping: Duration = .seconds(10)) {
        self.init(width: width, keeping: keeping, ask: Self.askSystem)
    }

    init(
        width: Int, keeping: Duration = .seconds(10),
        ask: @escaping @Sendable (String) throws -> [IPAddress]
    ) {
        self.width = max(width, 1)
        self.keeping = keeping
        self.ask = ask
    }

    /// Returns the addresses of a name.
    public func addresses(of name: String, context: Context) async throws -> [IPAddress] {
        let now = context.timeSource.now
        switch try state.withLock({ try Self.find(name, at: now, in: &$0, width) }) {
        case .known(let addresses): return addresses
        case .asked(let question, let runsNow):
            if runsNow { run(question) }
            return try await wait(for: question.answer, context)
        }
    }

    private static func find(
        _ name: String, at now: MonotonicInstant, in state: inout State, _ width: Int
    ) throws -> Finding {
        if let known = state.known[name], now < known.until { return .known(known.addresses) }
        if let question = state.asked[name] { return .asked(question, runsNow: false) }
        let question = Question(name: name, begin: now)
        let hasRoom = state.running < width
        if hasRoom {
            state.running += 1
        } else if state.waiting.count < capacity {
            state.waiting.append(question)
        } else {
            throw ClientError(
                .overloaded, "too many names wait to be looked up",
                transfer: TransferState(.connecting))
        }
        state.asked[name] = question
        return .asked(question, runsNow: hasRoom)
    }

    private func run(_ first: Question) {
        queue.async { [self] in
            var next: Question? = first
            while let question = next {
                let result = Result { try ask(question.name) }
                next = state.withLock { Self.finish(question, result, in: &$0, keeping) }
                question.answer.settle(result)
            }
        }
    }

    private static func finish(
        _ question: Question, _ result: Result<[IPAddress], any Error>, in state: inout State,
        _ keeping: Duration
    ) -> Question? {
        state.asked[question.name] = nil
        if case .success(let addresses) = result {
            if state.known.count >= capacity { state.known = [:] }
            state.known[question.name] = (addresses, question.begin.advanced(by: keeping))
        }
        if state.waiting.isEmpty {
            state.running -= 1
            return nil
        }
        return state.waiting.removeFirst()
    }

    private func wait(for answer: SharedValue<[IPAddress]>, _ context: Context) async throws
        -> [IPAddress]
    {
        let moment = OneShot<[IPAddress]>()
        answer.whenSettled { if let result = answer.result { moment.settle(result) } }
        let registration = context.onCancel { moment.settle(.failure($0.error)) }
        defer { registration.end() }
        return try await moment.value { moment.settle(.failure(CancellationError())) }
    }

    private static func askSystem(_ name: String) throws -> [IPAddress] {
        var list: UnsafeMutablePointer<addrinfo>?
        let status = unsafe getaddrinfo(name, nil, nil, &list)
        defer { if let list = unsafe list { unsafe freeaddrinfo(list) } }
        // The system returns each address once for each type of socket.
        var seen: Set<IPAddress> = []
        var addresses: [IPAddress] = []
        var entry = unsafe list
        while let current = unsafe entry {
            let info = unsafe current.pointee
            if let address = unsafe address(in: info), seen.insert(address).inserted {
                addresses.append(address)
            }
            unsafe entry = info.ai_next
        }
        guard status == 0, !addresses.isEmpty else {
            throw ClientError(
                .dns, "the host's name has no address", transfer: TransferState(.connecting))
        }
        return addresses
    }

    private static func address(in info: addrinfo) -> IPAddress? {
        guard let raw = unsafe UnsafeRawPointer(info.ai_addr) else { return nil }
        switch unsafe info.ai_family {
        case AF_INET:
            let bits = unsafe raw.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr
            return IPAddress(v4: UInt32(bigEndian: bits))
        case AF_INET6:
            let address = unsafe raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            return unsafe withUnsafeBytes(of: address) { bytes in
                let high = unsafe bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)
                let low = unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
                return IPAddress(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
            }
        default: return nil
        }
    }
}

/// Resolves the names of hosts, for ``URLPolicy``.
public protocol HostResolver: Sendable {
    /// Returns the addresses of a name.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/dns`` if the name has no address.
    func addresses(of name: String, context: Context) async throws -> [IPAddress]
}
