// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

@Suite("Subsets of endpoints")
struct EndpointSubsetTests {
    private static func fleet(_ count: Int) -> [Endpoint] {
        (0..<count).map { Chooser.endpoint($0, zone: $0 % 3 == 0 ? "a" : "b") }
    }

    private static func subset(_ client: Int, of fleet: [Endpoint]) -> Set<Endpoint> {
        Set(EndpointSubset(size: 20, of: client).endpoints(of: fleet, in: nil))
    }

    @Test(
        "Each endpoint has about the same number of clients",
        arguments: [(300, 300), (300, 310), (450, 301)])
    func balance(clients: Int, endpoints: Int) {
        let fleet = Self.fleet(endpoints)
        var counts: [Endpoint: Int] = [:]
        for client in 0..<clients {
            let subset = Self.subset(client, of: fleet)
            #expect(subset.count == 20)
            for endpoint in subset { counts[endpoint, default: 0] += 1 }
        }
        let mean = Double(clients * 20) / Double(endpoints)
        // The nearest whole numbers to 10 % of the mean.
        let bounds = Int((mean * 0.9).rounded(.down))...Int((mean * 1.1).rounded(.up))
        for endpoint in fleet {
            let count = counts[endpoint] ?? 0
            #expect(bounds.contains(count), "\(count) of \(mean)")
        }
    }

    @Test("Part of the clients is balanced too, as in a rolling start", arguments: [60, 150, 237])
    func part(clients: Int) {
        let fleet = Self.fleet(300)
        var counts: [Endpoint: Int] = [:]
        for client in 0..<clients {
            for endpoint in Self.subset(client, of: fleet) { counts[endpoint, default: 0] += 1 }
        }
        let mean = Double(clients) * 20 / 300
        for endpoint in fleet { #expect(abs(Double(counts[endpoint] ?? 0) - mean) <= 2.5) }
    }

    @Test("An endpoint that comes or goes changes little")
    func churn() {
        let fleet = Self.fleet(300)
        var changes = 0
        for place in stride(from: 0, to: 300, by: 60) {
            var fewer = fleet
            fewer.remove(at: place)
            for client in stride(from: 0, to: 300, by: 4) {
                let (before, after) = (
                    Self.subset(client, of: fleet), Self.subset(client, of: fewer)
                )
                let new = after.subtracting(before).count
                changes += new
                #expect(new <= 2)
            }
        }
        // At least a fifteenth must change: the endpoint that goes is in as many subsets.
        #expect(Double(changes) / (5 * 75) < 0.6)
    }

    @Test("The order of the list does not matter, and the subset keeps it")
    func order() {
        let fleet = Self.fleet(100)
        let subset = EndpointSubset(size: 20, of: 7)
        let chosen = subset.endpoints(of: fleet, in: nil)
        #expect(chosen == fleet.filter(Set(chosen).contains))
        #expect(Set(subset.endpoints(of: fleet.reversed(), in: nil)) == Set(chosen))
    }

    @Test("Each side of a zone has a subset of its own")
    func zones() {
        let chosen = EndpointSubset(size: 20, of: 3)
            .endpoints(of: Self.fleet(300), in: EndpointZone("a"))
        #expect(chosen.count { $0.zone == "a" } == 20 && chosen.count == 40)
    }

    @Test("Small lists and odd numbers are taken as they are")
    func bounds() {
        for size in [Int.min, -1, 0, 1, 2, 3, .max] {
            for client in [Int.min, -1, 0, 1, .max] {
                for count in 0...3 {
                    let chosen = EndpointSubset(size: size, of: client)
                        .endpoints(of: Self.fleet(count), in: nil)
                    #expect(chosen.count == min(max(size, 1), count))
                }
            }
        }
    }
}
