// SPDX-License-Identifier: Apache-2.0

/// A ``RequestAdapter`` that never waits.
public protocol SynchronousRequestAdapter: RequestAdapter {
    /// Changes a request, or throws to fail the call.
    func adapt(_ request: inout Request, context: Context) throws
}
