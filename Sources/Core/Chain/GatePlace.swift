// SPDX-License-Identifier: Apache-2.0

/// Where the gate of a call's own option stands if the stack has none for it
/// (``RequestOptionKey/gatePlace``).
public enum GatePlace: Sendable, Hashable {
    /// Outside of all gates of the client: the gate sees the call once.
    case outermost
    /// Next to the transport, inside of all other gates: the gate sees each send.
    case innermost
}
