// SPDX-License-Identifier: Apache-2.0

/// What a gate writes into header fields.
public enum GateFieldContent: Sendable, Hashable {
    /// What is no secret.
    case plain
    /// A secret.
    ///
    /// `isBound` tells whether it goes only to origins that the gate knows, and `variesByCall`
    /// whether it tells apart the users for whom one client makes its calls.
    case secret(isBound: Bool, variesByCall: Bool = false)
}
