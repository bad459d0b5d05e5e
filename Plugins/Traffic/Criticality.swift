// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// How much a call matters when not all calls can be served, or not all at once.
///
/// `AdmissionControl` refuses the calls of lower classes first. In the line of a
/// ``ConcurrencyLimit`` or a ``RateLimit``, calls of higher classes go first, and those of lower
/// ones are refused first when the line is full. An attempt has the class of its call.
///
/// The classes follow Google's ("Site Reliability Engineering", 2016, chapter 21), which has one
/// more above them for the few calls without which nothing works.
public enum Criticality: String, Hashable, Sendable, CaseIterable {
    /// Work that can wait or be left out, such as a prefetch or a batch: refused first.
    case sheddable
    /// The calls of a user or a service, if nothing else is said.
    case `default`
    /// Calls whose failure a user sees at once: refused last.
    case critical

    /// The number of classes above it.
    var level: Int {
        switch self {
        case .critical: 0
        case .default: 1
        case .sheddable: 2
        }
    }
}

/// The option that says how much a call matters.
public enum CriticalityOption: RequestOptionKey {
    /// The class of the call.
    public typealias Value = Criticality
}

extension RequestOptions {
    /// How much the call matters; ``Criticality/default`` if not set.
    public var criticality: Criticality {
        get { self[CriticalityOption.self] ?? .default }
        set { self[CriticalityOption.self] = newValue }
    }
}

extension Call {
    /// Says how much this call matters; see ``Criticality``.
    ///
    /// It has an effect in an `AdmissionControl` and in the lines of a ``ConcurrencyLimit`` and a
    /// ``RateLimit``.
    public func criticality(_ criticality: Criticality) -> Call {
        option(CriticalityOption.self, criticality)
    }
}

/// What decides when a waiting call has its turn.
struct Precedence: Hashable, Sendable {
    var criticality = Criticality.default
    /// Whose call it is, if callers take turns; nil if they do not.
    var key: String?
}

extension Precedence {
    init(of request: Request, by key: (@Sendable (Request) -> String?)?) {
        criticality = request.options.isEmpty ? .default : request.options.criticality
        self.key = key.map { $0(request) ?? "" }
    }
}
