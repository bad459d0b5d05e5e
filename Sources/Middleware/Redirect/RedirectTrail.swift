// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// The origins that a call came through before the current hop, oldest first.
///
/// ``Redirect`` sets it on requests that follow a redirect, for inner gates that check where a
/// request comes from.
public enum RedirectTrail: RequestOptionKey {
    /// The origins.
    public typealias Value = [Origin]
}
