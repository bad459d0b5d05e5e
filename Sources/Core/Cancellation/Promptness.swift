// SPDX-License-Identifier: Apache-2.0

/// How soon a gate or a transport ends when its context or its task is cancelled.
public enum Promptness: Sendable {
    /// It may not end; assumed for gates and transports that declare nothing.
    case unknown
    /// It ends soon if the rest of the chain does: besides `next`, it awaits only the context's
    /// sleeps, and bodies of responses.
    case withInside
    /// It ends soon, whatever the rest of the chain does.
    case always
}
