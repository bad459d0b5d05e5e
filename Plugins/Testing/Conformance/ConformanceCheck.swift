// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// A requirement for every plugin of a kind.
///
/// The suites ``TransportConformance``, ``InterceptorConformance``, ``SerializerConformance`` and
/// ``SharedStoreConformance`` are lists of checks for a parameterised test:
///
/// ```swift
/// @Test(arguments: TransportConformance.checks)
/// func conforms(_ check: TransportConformance.Check) async throws {
///     try await check.run(on: MyTransport())
/// }
/// ```
public struct ConformanceCheck<Subject: Sendable>: Sendable, CustomStringConvertible {
    /// The requirement that the check asserts, as a sentence.
    public let name: String
    private let body: @Sendable (Subject) async throws -> Void

    init(_ name: String, _ body: @escaping @Sendable (Subject) async throws -> Void) {
        self.name = name
        self.body = body
    }

    /// The name of the check.
    public var description: String { name }

    /// Runs the check.
    /// - Parameters:
    ///   - subject: The plugin to check. Use a new plugin for each check.
    ///   - limit: The time after which the check counts as hanging.
    /// - Throws: ``ConformanceFailure`` if the subject does not meet the requirement.
    public func run(on subject: Subject, limit: Duration = .seconds(60)) async throws {
        let outcome = OneShot<Void>()
        // The limit or the end of the check cancels this task. A hanging task is abandoned.
        let task = Task {
            do {
                try await body(subject)
                outcome.settle(.success(()))
            } catch let failure as ConformanceFailure {
                outcome.settle(.failure(failure.named(name)))
            } catch {
                outcome.settle(.failure(ConformanceFailure("it threw: \(error)").named(name)))
            }
        }
        let timer = SystemTimeSource().schedule(after: limit) { [name] in
            outcome.settle(.failure(ConformanceFailure("it hangs").named(name)))
        }
        defer {
            timer.cancel()
            task.cancel()
        }
        try await outcome.value { outcome.settle(.failure(CancellationError())) }
    }
}

/// A requirement that a plugin does not meet.
public struct ConformanceFailure: Error, CustomStringConvertible {
    /// The failed check and the result of the check.
    public let description: String

    init(_ finding: String) { description = finding }

    func named(_ check: String) -> Self { Self("\(check): \(description)") }
}

func require(_ condition: Bool, _ finding: @autoclosure () -> String) throws {
    if !condition { throw ConformanceFailure(finding()) }
}

func error(of body: () async throws -> Void) async throws -> any Error {
    do {
        try await body()
    } catch {
        return error
    }
    throw ConformanceFailure("it succeeds but should fail")
}

@discardableResult
func requireError(
    _ codes: ClientError.Code..., from body: () async throws -> Void
) async throws -> ClientError {
    let error = try await error(of: body)
    guard let error = error as? ClientError, codes.contains(error.code) else {
        throw ConformanceFailure("the error is \(error), not one of \(codes)")
    }
    return error
}

func requireCancellation(from body: () async throws -> Void) async throws {
    let error = try await error(of: body)
    try require(error is CancellationError, "the error is \(error), not CancellationError")
}
