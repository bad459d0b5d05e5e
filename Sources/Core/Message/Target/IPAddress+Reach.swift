// SPDX-License-Identifier: Apache-2.0

extension IPAddress {
    /// Whether the address is globally reachable.
    ///
    /// It is false for the ranges that IANA's special-purpose registries (RFC 6890 and its updates)
    /// set apart: this host, private, shared (CGNAT), link-local, loopback, documentation,
    /// benchmarking, multicast, reserved, unique local. It is also false for an IPv6 address that
    /// carries such an IPv4 address (mapped, compatible, 6to4, NAT64, ISATAP, Teredo), and for the
    /// metadata services of clouds at other addresses.
    public var isPublic: Bool {
        if let v4 { return Self.isPublic(v4) }
        if let embedded = embeddedV4 { return Self.isPublic(embedded) }
        // Global unicast is 2000::/3; the rest is local, multicast or unassigned.
        guard high >> 61 == 1 else { return false }
        if Self.reservedV6.contains(where: { high >> $0.shift == $0.prefix }) { return false }
        // ISATAP (RFC 5214 §6.1) ends in an IPv4 address behind 0000:5efe or 0200:5efe.
        if self.low >> 32 & 0xFDFF_FFFF == 0x5EFE {
            return Self.isPublic(UInt32(truncatingIfNeeded: self.low))
        }
        return true
    }

    /// The IPv4 address that an IPv6 address carries.
    private var embeddedV4: UInt32? {
        let low = UInt32(truncatingIfNeeded: self.low)
        switch (high, self.low >> 32) {
        case (0, 0xFFFF), (0, 0): return low
        case (0x0064_FF9B_0000_0000, 0): return low
        default: break
        }
        // 6to4 (RFC 3056) carries it after the first 16 bits.
        return high >> 48 == 0x2002 ? UInt32(truncatingIfNeeded: high >> 16) : nil
    }

    private static func isPublic(_ v4: UInt32) -> Bool {
        !reservedV4.contains { v4 >> $0.shift == $0.prefix } && !metadata.contains(v4)
    }

    private static let reservedV4: [(prefix: UInt32, shift: UInt32)] = [
        (0, 24),  // 0.0.0.0/8, this host
        (10, 24),  // 10.0.0.0/8, private
        (0x6440 >> 6, 22),  // 100.64.0.0/10, shared
        (127, 24),  // 127.0.0.0/8, loopback
        (0xA9FE, 16),  // 169.254.0.0/16, link-local
        (0xAC1, 20),  // 172.16.0.0/12, private
        (0xC0_0000, 8),  // 192.0.0.0/24, protocol assignments
        (0xC0_0002, 8),  // 192.0.2.0/24, documentation
        (0xC0_5863, 8),  // 192.88.99.0/24, 6to4 relays
        (0xC0A8, 16),  // 192.168.0.0/16, private
        (0xC612 >> 1, 17),  // 198.18.0.0/15, benchmarking
        (0xC6_3364, 8),  // 198.51.100.0/24, documentation
        (0xCB_0071, 8),  // 203.0.113.0/24, documentation
        (0xE, 28),  // 224.0.0.0/4, multicast
        (0xF, 28),  // 240.0.0.0/4, reserved, and broadcast
    ]

    // Azure's wire server; the metadata services of other clouds are link-local, shared or unique
    // local.
    private static let metadata: Set<UInt32> = [0xA83F_8110]

    private static let reservedV6: [(prefix: UInt64, shift: UInt64)] = [
        (0x2001_0000 >> 9, 41),  // 2001::/23, protocol assignments, Teredo among them
        (0x2001_0DB8, 32),  // 2001:db8::/32, documentation
        (0x3FFF0, 44),  // 3fff::/20, documentation
    ]
}
