// SPDX-License-Identifier: Apache-2.0

/// How far the content of a response has come, whether or not it has been read.
///
/// The source of the content decides it: for a transport, its ``Exchange``. A wrapper of a body
/// passes on what that body says. A time limit ends a body only if it is under way.
public enum ResponseBodyArrival: Sendable, Hashable {
    /// More of it, or its end, is still to come.
    case underWay
    /// All of it is here, in memory or in a file.
    case complete
    /// It broke off: what came before is here, and behind it the error.
    case broken
}
