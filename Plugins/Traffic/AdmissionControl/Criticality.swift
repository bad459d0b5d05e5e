// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// How much a call matters when an ``AdmissionControl`` cannot admit all calls.
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
}

/// The option that says how much a call matters.
enum CriticalityOption: RequestOptionKey {
    typealias Value = Criticality
}

extension RequestOptions {
    /// How much the call matters to an ``AdmissionControl``; ``Criticality/default`` if not set.
    public var criticality: Criticality {
        get { self[CriticalityOption.self] ?? .default }
        set { self[CriticalityOption.self] = newValue }
    }
}

extension Call {
    /// Says how much this call matters when an ``AdmissionControl`` cannot admit all calls.
    ///
    /// Without such a gate in the stack, it has no effect.
    public func criticality(_ criticality: Criticality) -> Call {
        option(CriticalityOption.self, criticality)
    }
}
