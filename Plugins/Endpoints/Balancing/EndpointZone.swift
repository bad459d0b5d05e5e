// SPDX-License-Identifier: Apache-2.0

/// The zone that a client runs in, and when it uses endpoints of other zones.
///
/// Requests stay in the own zone while it is well enough, since they are faster there, and transfer
/// between zones is often billed. The rule is that of Envoy's locality weights with an
/// overprovisioning factor of 1 / `spill`:
///
/// - `usable` is the share of the own zone's endpoints, by weight, that are in use: listed, and not
///   ejected.
/// - The own zone gets min(1, `usable` / `spill`) of the requests. The other endpoints share the
///   rest, by the rule of the ``BalancingPolicy``, whatever their zones are. Endpoints without a zone
///   are among them.
/// - Endpoints of one side alone get all requests.
/// - A retry or hedge leaves the zone once the call has tried all of its endpoints.
///
/// With `spill` 0.7, up to 30 % of the zone may be lost before a request leaves it. At 35 % usable
/// endpoints, half of the requests do.
///
/// Each client keeps to its zone, so the endpoints of a zone must be able to serve the clients of
/// that zone.
public struct EndpointZone: Hashable, Sendable {
    /// The name of the own zone, as in ``Endpoint/zone``.
    public let name: String

    /// The share of usable endpoints up to which all requests stay in the zone.
    public let spill: Double

    /// Creates a zone.
    /// - Parameters:
    ///   - name: The name of the zone that the client runs in.
    ///   - spill: The share of usable endpoints, up to 1, below which requests leave the zone, in
    ///     proportion. 0 keeps them there while one endpoint is left; a negative number and NaN
    ///     count as 0.
    public init(_ name: String, spill: Double = 0.7) {
        self.name = name
        self.spill = spill > 0 ? min(spill, 1) : 0
    }

    /// Returns the share of the requests that stays in the zone, if that share of its endpoints is
    /// usable.
    func ownShare(usable: Double) -> Double { usable > 0 ? min(usable / spill, 1) : 0 }
}
