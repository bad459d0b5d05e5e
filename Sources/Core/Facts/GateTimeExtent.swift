// SPDX-License-Identifier: Apache-2.0

/// What a time limit covers.
public enum GateTimeExtent: Sendable, Hashable {
    /// Everything up to the last byte of the body; for a call that streams, up to the head.
    case body
    /// Everything up to the head of the response.
    case head
    /// Each silence between two portions of the body.
    case silence
}
