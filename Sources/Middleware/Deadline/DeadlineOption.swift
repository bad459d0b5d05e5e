// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// The deadline of one call (``TurnpikeCore/Call/deadline(_:)``), for gates that apply it.
public enum DeadlineOption: RequestOptionKey {
    /// The gate that applies the option if no gate of the stack does: a ``Deadline``.
    public static func gate(for value: Duration) -> (any Gate)? { Deadline(value) }
}

/// When the caller of the service stops waiting (``TurnpikeCore/Call/deadline(until:)``).
enum CallerDeadlineOption: RequestOptionKey {
    // A limit that never ends, so that only the option counts.
    static func gate(for value: MonotonicInstant) -> (any Gate)? { Deadline(.seconds(1 << 40)) }
}

extension Call {
    /// Ends this call at an instant of the client's clock at the latest, such as when the caller of a
    /// service stops waiting (`DeadlineField`); other deadlines stay, and nil adds none.
    ///
    /// After that instant the call fails as ``/TurnpikeCore/ClientError/Code/deadlineExceeded``, and
    /// nothing is sent.
    public func deadline(until end: MonotonicInstant?) -> Call {
        end.map { option(CallerDeadlineOption.self, $0) } ?? self
    }

    /// Ends this call if it takes longer than a limit.
    ///
    /// This limit replaces the client's deadline.
    ///
    /// The limit covers the call until the last byte of its body has arrived, or up to the head if
    /// the call is ``/TurnpikeCore/Call/streaming()``. If a call makes several exchanges, the limit
    /// holds for each: a download that resumes, an event stream that reconnects, the pages of a
    /// collection. To limit the total time, cancel the task.
    public func deadline(_ limit: Duration) -> Call { option(DeadlineOption.self, limit) }
}
