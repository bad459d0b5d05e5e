// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

extension Stack {
    /// The stack that a client has by default, outermost first.
    ///
    /// 1. ``Deadline``: 30 s for the whole call, including its body.
    /// 2. ``Validate``: 200 to 299, and a content type that the request accepts.
    /// 3. ``Redirect``: up to 10 hops.
    /// 4. ``Retry``: up to 3 attempts, within a budget.
    /// 5. ``AttemptTimeout``: 10 s until the head of one attempt.
    /// 6. ``IdleTimeout``: 30 s without a byte of the body.
    /// 7. ``Limits``: 100 MiB in memory, 256 KiB of header fields.
    ///
    /// The validator is outside the retry gate, and the retry gate therefore decides by the status.
    /// The validator may refuse that status later.
    public static var standard: Stack {
        [
            .deadline(), .validate(), .redirect(), .retry(), .attemptTimeout(), .idleTimeout(),
            .limits(),
        ]
    }
}
