// SPDX-License-Identifier: Apache-2.0

/// What a gate was told about its endpoints; a reload may replace it.
struct EndpointRules: Sendable {
    let resolver: any EndpointResolver
    let choice: EndpointChoice
    let zone: EndpointZone?
    let subset: EndpointSubset?
    let health: EndpointHealth

    /// Where a request goes, for people.
    var sourceText: String {
        switch resolver {
        case let list as FixedEndpoints:
            switch list.count {
            case nil: "one of its endpoints, whose list has mistakes"
            case 1?: "the one endpoint of its list"
            case let count?: "one of the \(count) endpoints of its list"
            }
        case let file as EndpointFile: "one of the endpoints in \(file.path)"
        case let dns as DNSEndpoints: "one of the addresses of \(dns.name)"
        default: "one of its endpoints"
        }
    }

    /// The rule of choice, for people.
    var choiceText: String {
        "by \(choice)" + (zone.map { ", those of zone \($0.name) first" } ?? "")
    }
}
