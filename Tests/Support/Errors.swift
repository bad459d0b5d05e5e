// SPDX-License-Identifier: Apache-2.0

package import Testing
package import TurnpikeCore

/// Expects that a closure throws a `ClientError` with a code.
package func expectError<Value>(
    _ code: ClientError.Code, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Value
) async {
    let error = await #expect(throws: ClientError.self, sourceLocation: sourceLocation) {
        try await body()
    }
    guard let error else { return }
    #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
}

/// Expects that a closure throws a `ClientError` with a code.
package func expectError<Value>(
    _ code: ClientError.Code, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Value
) {
    let error = #expect(throws: ClientError.self, sourceLocation: sourceLocation) { try body() }
    guard let error else { return }
    #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
}

/// The code of the error that a call ends with.
package func code(of call: Call) async -> ClientError.Code? {
    do {
        _ = try await call.serialize(with: Text())
        return nil
    } catch {
        return (error as? ClientError)?.code
    }
}
