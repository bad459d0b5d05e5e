// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// What is wrong with one entry of a list of endpoints: "found …; expected …".
struct EndpointFault: Error {
    let message: String

    init(_ message: String) { self.message = message }

    init(_ fault: FileFault) { self.init(fault.description) }

    /// For what is neither a text nor an object.
    init(notAnEntry entry: JSONValue) {
        self.init(
            "found \(entry.kindName); expected a string such as \"10.0.0.7:8080\", or an object with"
                + " \"address\" and \"port\"")
    }
}

/// The faults of a list: the first hundred with their paths, and the number of all.
struct EndpointFaults {
    private static let maxKept = 100
    private static let maxShown = 3

    /// The name of the list in paths: `endpoints` in `endpoints[3].port`.
    let name: String
    private(set) var first: [(path: String, message: String)] = []
    private(set) var count = 0

    init(of name: String) { self.name = name }

    /// Adds a fault of the list itself.
    mutating func add(_ message: String) { add(name) { message } }

    /// Adds a fault of an entry, or of a member of it; the message is made only if it is kept.
    mutating func add(
        at index: Int, in member: String = "", _ message: @autoclosure () -> String
    ) {
        let place = path(index)
        add(member.isEmpty ? place : "\(place).\(member)", message)
    }

    func path(_ index: Int) -> String { "\(name)[\(index)]" }

    private mutating func add(_ path: String, _ message: () -> String) {
        count += 1
        if first.count < Self.maxKept {
            first.append((path, message()))
        }
    }

    /// Returns the error that says which list cannot be used, and why; nil without a fault.
    func error(in source: String) -> ClientError? {
        if count == 0 { return nil }
        var reasons = first.prefix(Self.maxShown).map { "\($0.path): \($0.message)" }
        if count > reasons.count { reasons.append("and \(count - reasons.count) more like these") }
        return ClientError(
            .configuration, "\(source) cannot be used: \(reasons.joined(separator: "; "))")
    }
}
