// SPDX-License-Identifier: Apache-2.0

/// The endpoints that a call has tried, by ``EndpointMember/key``.
///
/// It needs no memory of its own. It holds 16, more than a call may send; a further one replaces
/// the oldest.
struct TriedEndpoints: Sendable {
    private var keys = SIMD16<UInt64>()
    private var next = 0

    /// How many it holds.
    private(set) var count = 0

    mutating func insert(_ member: EndpointMember) {
        if contains(member.key) { return }
        keys[next] = member.key
        next = (next + 1) % 16
        count = min(count + 1, 16)
    }

    @inline(__always)
    func contains(_ key: UInt64) -> Bool { count > 0 && any(keys .== key) }
}
