// SPDX-License-Identifier: Apache-2.0

/// When what is made of a body must be done, though all of the body may have come long before.
struct ResponseBodyExpiry: Sendable {
    /// The length, in bytes, of bodies that need none.
    static let smallest: Int64 = 65_536

    let deadline: MonotonicInstant
    let timeSource: any TimeSource
    let fault: @Sendable () -> ClientError

    func check() throws {
        if timeSource.now >= deadline { throw fault() }
    }
}
