// SPDX-License-Identifier: Apache-2.0

/// A gate that changes requests.
///
/// ```swift
/// struct TenantHeader: SynchronousRequestAdapter {
///     let tenant: String
///     func adapt(_ request: inout Request, context: Context) { request.headers["X-Tenant"] = tenant }
/// }
/// ```
///
/// Inside a retry, the adapter runs for each attempt; inside a redirect, for each request. An
/// adapter that never waits should be a ``SynchronousRequestAdapter``, which costs less.
public protocol RequestAdapter: Gate {
    /// Changes a request, or throws to fail the call.
    func adapt(_ request: inout Request, context: Context) async throws
}

/// A ``RequestAdapter`` that never waits.
public protocol SynchronousRequestAdapter: RequestAdapter {
    /// Changes a request, or throws to fail the call.
    func adapt(_ request: inout Request, context: Context) throws
}
