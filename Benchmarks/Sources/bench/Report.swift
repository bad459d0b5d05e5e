import Foundation

/// Prints results: a table for people, JSON Lines for programs.
struct Report {
    let json: Bool

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

        private static func format(_ number: Double) -> String {
            number == number.rounded() ? String(Int(number)) : String(format: "%.3f", number)
        }
    }
}

func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
}
