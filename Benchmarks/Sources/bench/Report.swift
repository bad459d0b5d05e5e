// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Prints results as a table for people, or as JSON Lines for programs.
final class Report: Sendable {
    /// The bound of a measurement.
    enum Bound {
        case atMost(Double)
        case atLeast(Double)

        fileprivate var field: (String, Value) {
            switch self {
            case .atMost(let bound): ("atMost", .number(bound))
            case .atLeast(let bound): ("atLeast", .number(bound))
            }
        }

        /// Why a value is out of bounds; nil if it is within them.
        func fault(of value: Double) -> String? {
            switch self {
            // NaN is outside of every bound.
            case .atMost(let bound): value <= bound ? nil : "is above \(Value.format(bound))"
            case .atLeast(let bound): value >= bound ? nil : "is below \(Value.format(bound))"
            }
        }
    }

    let json: Bool
    private let faults = Mutex<[String]>([])

    init(json: Bool) { self.json = json }

    /// The exceeded bounds, as sentences.
    var missedBounds: [String] { faults.withLock { $0 } }

    /// Prints a line with a measurement, followed by its bound.
    func line(
        _ fields: [(String, Value)], _ figure: String, _ value: Double, _ bound: Bound,
        _ more: [(String, Value)] = []
    ) {
        line(fields + [(figure, .number(value)), bound.field] + more)
        guard let fault = bound.fault(of: value) else { return }
        let names = fields.prefix(2).map { $0.1.text.trimmingCharacters(in: .whitespaces) }
        let name = names.joined(separator: " ")
        faults.withLock { $0.append("\(name): \(figure) \(Value.format(value)) \(fault)") }
    }

    func line(_ fields: [(String, Value)]) {
        if json {
            print("{" + fields.map { "\"\($0.0)\":\($0.1.json)" }.joined(separator: ",") + "}")
        } else {
            print(fields.dropFirst().map { "\($0.0)=\($0.1.text)" }.joined(separator: "  "))
        }
    }

    enum Value: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
        case text(String)
        case number(Double)

        init(stringLiteral value: String) { self = .text(value) }

        var json: String {
            switch self {
            case .text(let text): "\"\(text)\""
            case .number(let number): Self.format(number)
            }
        }

        var text: String {
            switch self {
            case .text(let text):
                text.padding(toLength: max(text.count, 14), withPad: " ", startingAt: 0)
            case .number(let number): Self.format(number)
            }
        }

        fileprivate static func format(_ number: Double) -> String {
            number == number.rounded() ? String(Int(number)) : String(format: "%.3f", number)
        }
    }
}

func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
}
