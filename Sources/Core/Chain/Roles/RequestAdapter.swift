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
/// The adapter runs for each attempt inside a retry gate, and for each request inside a redirect
/// gate. If an adapter never suspends, a ``SynchronousRequestAdapter`` costs less.
public protocol RequestAdapter: Gate {
    /// Changes a request, or throws an error that ends the call.
    func adapt(_ request: inout Request, context: Context) async throws
}

/// A ``RequestAdapter`` that never suspends.
public protocol SynchronousRequestAdapter: RequestAdapter {
    /// Changes a request, or throws an error that ends the call.
    func adapt(_ request: inout Request, context: Context) throws
}
