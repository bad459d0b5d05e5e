// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeCore
import TurnpikeInspection
import TurnpikeSupport

/// The exchanges of a cassette in order, with the state of each exchange.
final class Tape: Sendable {
    private struct Slot {
        var entry: HAREntry?
        /// The text in the file, or nil for a running or failed exchange.
        var text: Data?
        var withheld: [String] = []
        var wasGiven = false
        var knowledge = 0

        /// Hides secrets that later exchanges have revealed, such as a token in plain text.
        mutating func renew(_ redactor: ExchangeRedactor) {
            let now = redactor.knowledge
            guard let text, knowledge < now else { return }
            self.text = redactor.renewed(text) ?? text
            knowledge = now
        }
    }

    private struct State {
        var log: JSONObject
        var slots: [Slot]
        var skipped: [String] = []
        var byTarget: [String: [Int]] = [:]
        var unmatched: [String] = []
        var replayed = 0
        var recorded = 0
        var failure: (any Error)?
        var version = 0
    }

    enum Finding {
        case entry(HAREntry)
        /// No exchange can be replayed. A recording may replace the exchange at position `expired`.
        case missing(report: String, expired: Int?)
    }

    let file: URL
    private let content: PrivateFile
    let options: CassetteOptions
    let redactor: ExchangeRedactor
    private let givesOnce: Bool
    private let state: Mutex<State>
    private let written = Mutex(0)

    private static let reportLimit = 1000

    /// Creates a tape, and reads the file unless `isNew` is true.
    init(
        file: URL, options: CassetteOptions, isNew: Bool, mustExist: Bool, givesOnce: Bool
    ) throws {
        self.file = file
        self.options = options
        self.givesOnce = givesOnce
        redactor = ExchangeRedactor(options.redaction, allowedTypes: options.allowedTypes)
        let isReadOnly = mustExist
        content = PrivateFile(file.path(percentEncoded: false), followsLink: isReadOnly)
        if !isReadOnly { try Self.prepare(content, file) }
        let recorded =
            isNew
            ? nil
            : try HARFile.read(
                file, as: content, redactor: redactor, matching: options.matching)
        if recorded == nil, mustExist {
            throw ClientError(
                .configuration,
                "there is no cassette \(file.path(percentEncoded: false)); set the mode to"
                    + " \"record\" or \"record-missing\" to make it")
        }
        let kept = recorded ?? .empty
        let knowledge = redactor.knowledge
        var first = State(
            log: kept.log,
            slots: kept.slots.map {
                Slot(
                    entry: $0.entry, text: HARFile.text(of: $0.json),
                    withheld: $0.entry?.withheld ?? [], knowledge: knowledge)
            }, skipped: kept.slots.compactMap(\.fault))
        for (index, slot) in kept.slots.enumerated() {
            guard let request = slot.entry?.request else { continue }
            first.byTarget["\(request.method.rawValue) \(request.path)", default: []].append(index)
        }
        state = Mutex(first)
    }

    // MARK: Replaying

    func find(_ request: RecordedRequest, at date: Date) -> Finding {
        state.withLock { state in
            let matching = (state.byTarget["\(request.method.rawValue) \(request.path)"] ?? [])
                .filter { index in
                    state.slots[index].entry?.request.map {
                        request.matches($0, by: options.matching)
                    } ?? false
                }
            let unused = matching.first { !state.slots[$0].wasGiven }
            let repeated = givesOnce || !options.repeatsLast ? nil : matching.last
            guard let index = unused ?? repeated, let entry = state.slots[index].entry else {
                return Self.missing(report(on: request, matching, state), &state, nil)
            }
            if let reason = staleness(of: entry, at: date) {
                state.slots[index].wasGiven = true
                return Self.missing(
                    "the exchange \(index) “\(request.summary)” \(reason)", &state, index)
            }
            if case .none(let reason) = entry.answer, givesOnce {
                return Self.missing("the exchange \(index): \(reason)", &state, nil)
            }
            state.slots[index].wasGiven = true
            state.replayed += 1
            return .entry(entry)
        }
    }

    private static func missing(
        _ report: String, _ state: inout State, _ expired: Int?
    ) -> Finding {
        if state.unmatched.count < reportLimit { state.unmatched.append(report) }
        return .missing(report: report, expired: expired)
    }

    private func staleness(of entry: HAREntry, at date: Date) -> String? {
        guard let expiry = options.expiry else { return nil }
        guard let started = entry.started else {
            return "has no date, so its age is not known; record it again"
        }
        let age = Duration.seconds(date.timeIntervalSince(started))
        // An exchange with a date far in the future has expired too, because a clock was wrong.
        return age > expiry || age < .zero - expiry
            ? "was recorded on \(HARFormat.date(started)) and has expired; record it again" : nil
    }

    private func report(
        on request: RecordedRequest, _ matching: [Int], _ state: State
    ) -> String {
        let name = file.lastPathComponent
        var skipped = ""
        if let first = state.skipped.first {
            let count = state.skipped.count
            skipped = "; \(count) of its exchanges cannot be played, the first because \(first)"
        }
        if let last = matching.last {
            let count = matching.count == 1 ? "" : " (\(matching.count) of them)"
            return "\(name) has no further answer to \(request.summary): the exchange \(last)"
                + count + " was already replayed" + skipped
        }
        let nearest = state.slots.enumerated().compactMap { index, slot in
            slot.entry?.request.map { recorded in
                (index, recorded, request.mismatches(from: recorded, by: options.matching))
            }
        }.min { $0.2.weight < $1.2.weight }
        guard let (index, recorded, mismatches) = nearest else {
            let empty = state.slots.isEmpty ? "it is empty" : "none of its exchanges can be played"
            return "\(name) has no answer to \(request.summary): " + empty + skipped
        }
        return "\(name) has no answer to \(request.summary); the nearest is the exchange \(index)"
            + " “\(recorded.summary)”, but \(mismatches.texts.joined(separator: ", and "))"
            + skipped
    }

    // MARK: Recording

    /// Reserves the next position, or the position of an expired exchange, for a new exchange.
    func reserve(replacing expired: Int?) -> Int {
        state.withLock { state in
            if let expired { return expired }
            state.slots.append(Slot())
            return state.slots.count - 1
        }
    }

    func record(_ exchange: RecordedExchange, at index: Int) {
        let knowledge = redactor.knowledge
        let (entry, withheld) = exchange.entry(redactor: redactor)
        let text = HARFile.text(of: entry)
        state.withLock { state in
            state.slots[index] = Slot(
                text: text, withheld: withheld, wasGiven: true, knowledge: knowledge)
            state.recorded += 1
            state.version += 1
        }
        do { try write() } catch { state.withLock { $0.failure = error } }
    }

    func save(always: Bool) throws {
        if always { state.withLock { $0.version += 1 } }
        try write()
        state.withLock { $0.failure = nil }
    }

    func checkWriting() throws {
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    // Writes without the lock of the state. Other calls can continue during the write.
    private func write() throws {
        try redactor.checkRoom()
        try written.withLock { written in
            let (text, version) = state.withLock { state in
                for index in state.slots.indices { state.slots[index].renew(redactor) }
                return (
                    HARFile.text(state.log, entries: state.slots.compactMap(\.text)), state.version
                )
            }
            guard version > written else { return }
            do {
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try content.write(text)
            } catch {
                throw ClientError(
                    .download, "the cassette \(file.lastPathComponent) cannot be written: \(error)",
                    underlying: error)
            }
            written = version
        }
    }

    // Checks before the first send whether the file can be written.
    private static func prepare(_ content: PrivateFile, _ file: URL) throws {
        do {
            try content.check()
        } catch {
            throw ClientError(
                .configuration, "the cassette \(file.lastPathComponent): \(error)",
                underlying: error)
        }
        content.removeLeftovers()
    }

    // MARK: Results

    var unmatched: [String] { state.withLock { $0.unmatched } }
    var withheld: [String] { state.withLock { $0.slots.flatMap(\.withheld) } }
    var skipped: [String] { state.withLock { $0.skipped } }
    var replayed: Int { state.withLock { $0.replayed } }
    var recorded: Int { state.withLock { $0.recorded } }

    var unused: [String] {
        state.withLock { state in
            state.slots.enumerated().compactMap { index, slot in
                guard !slot.wasGiven, let request = slot.entry?.request else { return nil }
                return "the exchange \(index) “\(request.summary)”"
            }
        }
    }
}
