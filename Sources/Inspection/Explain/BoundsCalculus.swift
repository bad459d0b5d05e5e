// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The worst case of one gate, of all inner gates, and of the transport.
///
/// The worst case is computed only from the facts of the gates, from the innermost gate to the
/// outermost. The computation starts with the transport, and each gate changes the worst case. A
/// bound may be too large, but never too small. Buffers of the transport and the run time of code
/// do not count.
struct WorstCase: Equatable {
    /// An entry of the calculation: a gate of the stack, or a group.
    indirect enum Part {
        case gate(number: Int, variants: [Variant])
        /// The gates of a group, which a request may skip if `isCertain` is false.
        case group(number: Int, isCertain: Bool, parts: [Part])

        /// The number of the gate, or of each gate in the group, outermost first.
        var numbers: [Int] {
            switch self {
            case .gate(let number, _): [number]
            case .group(_, _, let parts): parts.flatMap(\.numbers)
            }
        }
    }

    enum Variant {
        case effects([GateEffect])
        case nothing
        case unknown(Role)
    }

    enum Role {
        /// The gate may have any effect, and may send again, wait, answer, or store bytes.
        case interceptor
        /// The gate may send again and wait.
        case retrier
        /// The gate may wait before a request and after a response.
        case waiting
        /// The gate is an adapter, a logger, or a recorder of metrics, and neither sends nor waits.
        case passive
    }

    /// The number of exchanges, including redirects.
    private(set) var sends = Ledger.oneSend
    /// Nanoseconds until the head of the response, or until the error.
    private(set) var head = Ledger.endless
    /// Nanoseconds until the last byte of the content, or until the error.
    private(set) var whole = Ledger.endless
    /// Nanoseconds in which no exchange of the call is running.
    private(set) var waiting = Ledger.nothing
    /// Bytes of content that the reader of the response may collect in memory.
    private(set) var content = Amount.unbounded
    private(set) var memory = Amount(0)
    private(set) var disk = Amount(0)
    // Whether an inner gate can answer without a send.
    private var answersByItself = false

    /// The worst case of the transport is one exchange, which may never end.
    ///
    /// The contract of transports requires no time limit, although some transports have a limit.
    static let transport = WorstCase()

    static func of(_ parts: [Part], without absent: Set<Int> = []) -> WorstCase {
        WorstCase.transport.inside(parts, without: absent)
    }

    /// Returns the worst case without each of the gates, outermost first.
    ///
    /// The worst case of the inner gates is computed only once for each gate that is left out.
    static func withoutOne(_ parts: [Part]) -> [(number: Int, worst: WorstCase)] {
        var inner = WorstCase.transport
        var cases: [(number: Int, worst: WorstCase)] = []
        for (index, part) in parts.enumerated().reversed() {
            for number in part.numbers.reversed() {
                let outer = Array(parts[...index])
                cases.append((number, inner.inside(outer, without: [number])))
            }
            inner = inner.inside([part], without: [])
        }
        return cases.reversed()
    }

    private func inside(_ parts: [Part], without absent: Set<Int>) -> WorstCase {
        parts.reversed().reduce(self) { inner, part in
            switch part {
            case .gate(let number, let variants):
                if absent.contains(number) { return inner }
                let worst = variants.map { inner.inside($0) }
                return worst.dropFirst().reduce(worst.first ?? inner) { $0.worse($1) }
            case .group(let number, let isCertain, let parts):
                if absent.contains(number) { return inner }
                let passed = inner.inside(parts, without: absent)
                // A request passes through the gates or skips the gates, and the worse case counts.
                return isCertain ? passed : passed.worse(inner)
            }
        }
    }

    private func inside(_ variant: Variant) -> WorstCase {
        switch variant {
        case .nothing: self
        case .effects(let effects): effects.reversed().reduce(self) { $0.inside($1) }
        case .unknown(let role): inside(role)
        }
    }

    private func worse(_ other: WorstCase) -> WorstCase {
        var worst = self
        worst.sends = sends.larger(other.sends)
        worst.head = head.larger(other.head)
        worst.whole = whole.larger(other.whole)
        worst.waiting = waiting.larger(other.waiting)
        worst.content = max(content, other.content)
        worst.memory = max(memory, other.memory)
        worst.disk = max(disk, other.disk)
        worst.answersByItself = answersByItself || other.answersByItself
        return worst
    }

    // MARK: The rules

    private func inside(_ effect: GateEffect) -> WorstCase {
        var worst = self
        switch effect {
        case .retries(let attempts, let waits, _): worst.retry(attempts, Amount(waits))
        case .hedges(let copies, let delay): worst.hedge(Self.count(copies), delay)
        case .redirects(let hops): worst.redirect(Self.count(hops))
        case .replays(let times): worst.replay(Self.count(times))

        // A call may first wait for the whole exchange of another call, and may be unable to share
        // a long content. After this wait, the call sends its own request. The exchange of the
        // other call passes through the same gates, with a separate limit of sends.
        case .answers(.shared):
            let other = whole.inOneCall
            worst.head = head.adding(other)
            worst.whole = whole.adding(other)
            worst.waiting = waiting.adding(other)
            worst.answersByItself = true
        // The gate first discards the response that the substitute replaces.
        case .answers(.substitute):
            worst.discard(times: 1)
            worst.answersByItself = true
        case .answers(.stored): worst.answersByItself = true
        // An immediate error costs nothing, and is therefore never the worst case.
        case .answers(.refusal): break

        // The limit ends sends, waits and reads of the inner gates. The caller gets the error at
        // once, even if an inner gate does not react.
        case .limitsTime(let limit, .head):
            worst.head = head.limited(to: Amount(limit))
            worst.waiting = waiting.limited(to: Amount(limit))
        case .limitsTime(let limit, .body):
            worst.head = head.limited(to: Amount(limit))
            worst.whole = whole.limited(to: Amount(limit))
            worst.waiting = waiting.limited(to: Amount(limit))
        // A limit on silence is no bound, because a slow body may take years.
        case .limitsTime(_, .silence): break
        case .waits(let wait, _): worst.wait(Amount(wait))
        case .sharesState(_, _, let wait): worst.wait(Amount(wait))
        // A refused response is drained before the gate throws the error.
        case .rejectsResponses: worst.discard(times: 1)

        case .readsContent(let bytes):
            // A gate that reads the content returns the response only after the content.
            worst.head = head.larger(whole)
            worst.memory += Amount(bytes)
        case .limitsContent(let bytes): worst.content = min(content, Amount(bytes))
        case .holdsMemory(let bytes): worst.memory += Amount(bytes)
        case .holdsDisk(let bytes): worst.disk += Amount(bytes)

        // Gates that refuse or delay requests state this in another effect: `answers` or `waits`.
        case .limitsConcurrency, .limitsRate, .breaksCircuit: break
        // The other effects change or read requests, or limit decoding.
        default: break
        }
        return worst
    }

    private static func count(_ stated: Int) -> Int { min(max(stated, 0), 1 << 40) }

    /// Attempts run one after another, with waits between the attempts.
    ///
    /// Each abandoned response is discarded, as is the last response if the retrier throws another
    /// error.
    private mutating func retry(_ attempts: Int?, _ waits: Amount) {
        let attempts = attempts.map { max(Self.count($0), 1) }
        if attempts == 1 { return }
        let failed = head.adding(Amount.discarding)
        let others = attempts.map { failed.repeated($0 - 1) } ?? failed.repeatedWithoutEnd
        sends = attempts.map { sends.repeated($0) } ?? sends.repeatedWithoutEnd
        whole = others.then(whole.larger(failed)).adding(waits)
        head = others.then(failed).adding(waits)
        let inside = attempts.map { waiting.repeated($0) } ?? waiting.repeatedWithoutEnd
        waiting = inside.adding(waits)
    }

    /// Several requests run at the same time.
    ///
    /// A further request begins only while the earlier requests run. The last request begins after
    /// all delays, or just before the earlier requests end. Each request may use memory. While all
    /// requests wait, no exchange is running.
    private mutating func hedge(_ copies: Int, _ delay: Duration?) {
        if copies == 0 { return }
        let delays = Amount(delay).times(copies)
        let begin = head.repeated(copies).limited(to: delays)
        sends = sends.repeated(copies + 1)
        whole = begin.beside(whole)
        head = begin.beside(head)
        waiting = waiting.repeated(copies + 1)
        memory = memory.times(copies + 1)
        disk = disk.times(copies + 1)
    }

    /// The inner gates run once for each hop, and once for the last response.
    ///
    /// Each hop returns one send to the limit, because a hop does not count as a send of the call.
    /// Every redirecting response is read to the end, even the response that exceeds the limit of
    /// hops.
    private mutating func redirect(_ hops: Int) {
        if hops == 0 { return }
        let (sends, head, whole) = (sends, head, whole)
        let isCounted = !answersByItself
        self.sends = sends.redirected(hops, to: sends, isCounted)
        let discarding = Amount.discarding.times(hops + 1)
        self.head = head.redirected(hops, to: head, isCounted).adding(discarding)
        self.whole = head.redirected(hops, to: whole, isCounted).adding(discarding)
        waiting = waiting.redirected(hops, to: waiting, isCounted)
    }

    private mutating func replay(_ times: Int) {
        if times == 0 { return }
        let refused = head.adding(Amount.discarding).repeated(times)
        sends = sends.repeated(times + 1)
        whole = refused.then(whole)
        head = refused.then(head)
        waiting = waiting.repeated(times + 1)
    }

    private mutating func wait(_ wait: Amount) {
        head = head.adding(wait)
        whole = whole.adding(wait)
        waiting = waiting.adding(wait)
    }

    // `Response.discard(in:keeping:)` reads for at most 100 ms.
    private mutating func discard(times: Int) {
        head = head.adding(Amount.discarding.times(times))
        whole = whole.larger(head)
    }

    /// The role of a gate without facts defines the kinds of effects, but not the amounts.
    private func inside(_ role: Role) -> WorstCase {
        var worst = self
        worst.memory += .unknown
        worst.disk += .unknown
        switch role {
        case .interceptor, .retrier:
            worst.sends = sends.repeatedUnknown
            worst.wait(.unknown)
            worst.answersByItself = true
        case .waiting: worst.wait(.unknown)
        case .passive: break
        }
        return worst
    }
}
