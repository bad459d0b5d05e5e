// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// The deadline of one call (``TurnpikeCore/Call/deadline(_:)``), for gates that apply deadlines.
public enum DeadlineOption: RequestOptionKey {
    /// Returns a ``Deadline``, which applies the option if no gate of the stack does.
    public static func gate(for value: Duration) -> (any Gate)? { Deadline(value) }
}

/// The instant when the caller of this service stops waiting
/// (``TurnpikeCore/Call/deadline(until:)``).
enum CallerDeadlineOption: RequestOptionKey {
    // This limit never ends, so only the option counts.
    static func gate(for value: MonotonicInstant) -> (any Gate)? { Deadline(.seconds(1 << 40)) }
}

extension Call {
    /// Ends this call at the latest at an instant of the client's clock, in addition to other
    /// deadlines.
    ///
    /// Use it with the instant when the caller of a service stops waiting (`DeadlineField`). After
    /// that instant the call fails with ``/TurnpikeCore/ClientError/Code/deadlineExceeded``, and
    /// nothing more is sent. If the instant is nil, the call has only its other deadlines.
    public func deadline(until end: MonotonicInstant?) -> Call {
        end.map { option(CallerDeadlineOption.self, $0) } ?? self
    }

    /// Ends this call if it takes longer than a limit.
    ///
    /// This limit replaces the client's deadline.
    ///
    /// The limit covers the call until the last byte of its body has arrived. If the call is
    /// ``/TurnpikeCore/Call/streaming()``, the limit ends with the head. The limit applies to each
    /// exchange of a call: to each attempt of a download that resumes, to each connection of an
    /// event stream, to each page of a collection. To limit the total time, cancel the task.
    public func deadline(_ limit: Duration) -> Call { option(DeadlineOption.self, limit) }
}
