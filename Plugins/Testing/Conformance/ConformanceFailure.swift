// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// A requirement that a plugin does not meet.
public struct ConformanceFailure: Error, CustomStringConvertible {
    /// The check, and what it found.
    public let description: String

    init(_ finding: String) { description = finding }

    func named(_ check: String) -> Self { Self("\(check): \(description)") }
}

/// Throws if a condition is false.
func require(_ condition: Bool, _ finding: @autoclosure () -> String) throws {
    if !condition { throw ConformanceFailure(finding()) }
}

/// Returns the error that a body throws.
func error(of body: () async throws -> Void) async throws -> any Error {
    do {
        try await body()
    } catch {
        return error
    }
    throw ConformanceFailure("it succeeds but should fail")
}

/// Requires a body to fail with one of several codes.
@discardableResult
func requireError(
    _ codes: ClientError.Code..., from body: () async throws -> Void
) async throws -> ClientError {
    let error = try await error(of: body)
    guard let error = error as? ClientError, codes.contains(error.code) else {
        throw ConformanceFailure("it fails with \(error), not with one of \(codes)")
    }
    return error
}

/// Requires a body to fail with a `CancellationError`.
func requireCancellation(from body: () async throws -> Void) async throws {
    let error = try await error(of: body)
    try require(error is CancellationError, "it fails with \(error), not with CancellationError")
}
