// SPDX-License-Identifier: Apache-2.0

/// What a gate was told about its endpoints; a reload may replace it.
struct EndpointRules: Sendable {
    let resolver: any EndpointResolver
    let choice: EndpointChoice
    let zone: EndpointZone?
    let subset: EndpointSubset?
    let health: EndpointHealth

    /// The rule of choice, for people.
    var choiceText: String {
        "by \(choice)" + (zone.map { ", those of zone \($0.name) first" } ?? "")
    }
}
