// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// How important a call is when not all calls can be served, or not all at once.
///
/// `AdmissionControl` refuses the calls of lower classes first. In the queue of a
/// ``ConcurrencyLimit`` or a ``RateLimit``, calls of higher classes start first. If the queue is
/// full, calls of lower classes are refused first. An attempt has the class of its call.
///
/// The classes are those of Google ("Site Reliability Engineering", 2016, chapter 21), without
/// Google's highest class for the few calls on which everything depends.
public enum Criticality: String, Hashable, Sendable, CaseIterable {
    /// Work that can wait or be omitted, such as a prefetch or a batch: refused first.
    case sheddable
    /// The calls of a user or a service, unless another class is set.
    case `default`
    /// Calls whose failure a user sees at once: refused last.
    case critical

    /// The number of classes above this class.
    var level: Int {
        switch self {
        case .critical: 0
        case .default: 1
        case .sheddable: 2
        }
    }
}

/// The option that says how important a call is.
public enum CriticalityOption: RequestOptionKey {
    /// The class of the call.
    public typealias Value = Criticality
}

extension RequestOptions {
    /// The importance of the call; by default ``Criticality/default``.
    public var criticality: Criticality {
        get { self[CriticalityOption.self] ?? .default }
        set { self[CriticalityOption.self] = newValue }
    }
}

extension Call {
    /// Sets how important this call is; see ``Criticality``.
    ///
    /// The class matters in an `AdmissionControl`, and in the queues of a ``ConcurrencyLimit`` and
    /// a ``RateLimit``.
    public func criticality(_ criticality: Criticality) -> Call {
        option(CriticalityOption.self, criticality)
    }
}

/// Decides when a waiting call has its turn.
struct Precedence: Hashable, Sendable {
    var criticality = Criticality.default
    /// The key of the caller, if callers take turns; otherwise nil.
    var key: String?
}

extension Precedence {
    init(of request: Request, by key: (@Sendable (Request) -> String?)?) {
        criticality = request.options.isEmpty ? .default : request.options.criticality
        self.key = key.map { $0(request) ?? "" }
    }
}
