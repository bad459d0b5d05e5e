// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// The importance of a call when not all calls can be served.
///
/// `AdmissionControl` refuses the calls of lower classes first. In the queue of a
/// ``ConcurrencyLimit`` or a ``RateLimit``, calls of higher classes start first. A full queue
/// refuses calls of lower classes first. An attempt has the class of its call.
///
/// The classes come from "Site Reliability Engineering" (Google, 2016, chapter 21), without the
/// highest class for the few most critical calls.
public enum Criticality: String, Hashable, Sendable, CaseIterable {
    /// Work that can wait or be omitted, such as a prefetch or a batch, and is refused first.
    case sheddable
    /// The calls of a user or a service, unless another class is set.
    case `default`
    /// Calls whose failure a user notices at once; these calls are refused last.
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

/// The request option for the importance of a call.
public enum CriticalityOption: RequestOptionKey {
    /// The class of the call.
    public typealias Value = Criticality
}

extension RequestOptions {
    /// The importance of the call, by default ``Criticality/default``.
    public var criticality: Criticality {
        get { self[CriticalityOption.self] ?? .default }
        set { self[CriticalityOption.self] = newValue }
    }
}

extension Call {
    /// Sets the importance of this call; see ``Criticality``.
    ///
    /// The class affects `AdmissionControl` and the queues of ``ConcurrencyLimit`` and
    /// ``RateLimit``.
    public func criticality(_ criticality: Criticality) -> Call {
        option(CriticalityOption.self, criticality)
    }
}

/// The class and the key of a call, which decide when the waiting call starts.
struct Precedence: Hashable, Sendable {
    var criticality = Criticality.default
    /// The key of the caller, or nil if callers do not take turns.
    var key: String?
}

extension Precedence {
    init(of request: Request, by key: (@Sendable (Request) -> String?)?) {
        criticality = request.options.isEmpty ? .default : request.options.criticality
        self.key = key.map { $0(request) ?? "" }
    }
}
