// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The members of a list at one moment, of which some are usable; it never changes.
///
/// The gate makes a new set where the list changes, where health adds or removes a usable member,
/// and where a slow start begins. To make one takes time in proportion to the members.
final class EndpointSet: Sendable {
    /// All members, also those that are not usable.
    let members: [EndpointMember]

    /// The usable members of the own zone, or of all zones if there is no own zone.
    let own: EndpointGroup

    /// The usable members of other zones.
    let others: EndpointGroup

    /// The share of the requests that stay in the own zone.
    let ownShare: Double

    /// Creates a set.
    /// - Parameters:
    ///   - members: All members.
    ///   - zone: The own zone, if it is preferred.
    ///   - slowStart: How long a slow start lasts; zero for none.
    ///   - isUsable: Whether requests may be sent to a member now.
    init(
        _ members: [EndpointMember], zone: EndpointZone? = nil,
        slowStart: Duration = .seconds(30),
        isUsable: (EndpointMember) -> Bool = { _ in true }
    ) {
        self.members = members
        let usable = members.filter(isUsable)
        guard let zone else {
            own = EndpointGroup(usable, slowStart: slowStart)
            others = EndpointGroup([], slowStart: slowStart)
            ownShare = 1
            return
        }
        own = EndpointGroup(
            usable.filter { $0.endpoint.zone == zone.name }, slowStart: slowStart)
        others = EndpointGroup(
            usable.filter { $0.endpoint.zone != zone.name }, slowStart: slowStart)
        let all = EndpointGroup(
            members.filter { $0.endpoint.zone == zone.name }, slowStart: slowStart)
        // Without weights their numbers count.
        let isCounted = all.weight == 0
        let part = isCounted ? Double(own.members.count) : own.weight
        let whole = isCounted ? Double(all.members.count) : all.weight
        ownShare = zone.ownShare(usable: whole > 0 ? part / whole : 0)
    }

    /// How many members are usable and have a weight.
    var usableCount: Int { own.members.count + others.members.count }
}
