// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeCore
import TurnpikeMiddleware

@Suite("MetricLabels")
struct MetricLabelsTests {
    @Test("A pass under way has a method and a server, which a recorder may count among others")
    func bounded() {
        let labels = MetricLabels(
            method: .get, origin: Origin(scheme: "https", host: "A.example", port: 443))
        #expect(labels.attributes.map(\.value) == ["GET", "a.example", "443"])
        #expect(labels.amongOtherServers.attributes.map(\.value) == ["GET", "_OTHER"])
        #expect(labels.amongOtherServers == MetricLabels(method: .get, origin: nil))
        #expect(MetricLabels.overflow.attributes.map(\.value) == ["_OTHER", "_OTHER"])
        #expect(MetricLabels(method: "PURGE", origin: nil) == .overflow)
    }

    @Test("The names of the attributes are in the order of the list")
    func names() {
        let labels = MetricLabels(method: .get, origin: Origin(scheme: "http", host: "a", port: 80))
        #expect(labels.attributes.map(\.name) == Array(MetricLabels.names.prefix(3)))
    }
}
