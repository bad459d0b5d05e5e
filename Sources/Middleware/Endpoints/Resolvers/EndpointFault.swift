// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// What is wrong with one entry of a list of endpoints: "found …; expected …".
struct EndpointFault: Error {
    let message: String

    init(_ message: String) { self.message = message }
}

/// The faults of a list: the first hundred with their paths, and the number of all.
struct EndpointFaults {
    private static let maxKept = 100
    private static let maxShown = 3

    private(set) var first: [ConfigurationIssue] = []
    private(set) var count = 0

    /// Adds a fault; path and message are made only if they are kept.
    mutating func add(at path: @autoclosure () -> String, _ message: @autoclosure () -> String) {
        count += 1
        if first.count < Self.maxKept {
            first.append(ConfigurationIssue(path: path(), message: message()))
        }
    }

    /// Returns the error that says which list cannot be used, and why; nil without a fault.
    func error(in source: String) -> ClientError? {
        if count == 0 { return nil }
        var reasons = first.prefix(Self.maxShown).map(\.description)
        if count > reasons.count { reasons.append("and \(count - reasons.count) more like these") }
        return ClientError(
            .configuration, "\(source) cannot be used: \(reasons.joined(separator: "; "))")
    }
}
