// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The numbers and times that users give to a module, as its committed public interface has them.
package enum PublicNumbers {
    private static let types: Set<Substring> = ["Int", "Int64", "Double", "Duration"]
    private static let passingOn: Set<Substring> = ["Gate", "EndpointResolver"]

    /// Reads the interface of a module.
    ///
    /// They are the parameters of initializers and of static functions, and the variables that can
    /// be set. `Retry.attempts` is one, `Backoff.constant.wait` another. The static functions of
    /// `Gate` and `EndpointResolver` only pass on what they get.
    package static func of(_ module: String) throws -> Set<String> {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = folder.appending(path: "PublicInterface/\(module).txt")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        return Set(lines.flatMap { numbers(in: $0) })
    }

    private static func numbers(in line: Substring) -> [String] {
        guard let split = line.range(of: ": ") else { return [] }
        let (path, form) = (line[..<split.lowerBound], line[split.upperBound...])
        if form.hasPrefix("var "), !form.hasSuffix(" { get }") {
            return isNumber(form.drop { $0 != ":" }.dropFirst(2)) ? [String(path)] : []
        }
        guard let labels = path.firstIndex(of: "("), let open = form.firstIndex(of: "("),
            let dot = path[..<labels].lastIndex(of: ".")
        else { return [] }
        let (type, function) = (path[..<dot], path[path.index(after: dot)..<labels])
        let isStatic = form.hasPrefix("static func ") && !passingOn.contains(type)
        guard function == "init" || isStatic else { return [] }
        let owner = function == "init" ? String(type) : "\(type).\(function)"
        return parameters(of: form[open...]).compactMap { parameter in
            let parts = parameter.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, isNumber(parts[1].dropFirst()) else { return nil }
            let names = parts[0].split(separator: " ")
            return names.first.map { "\(owner).\($0 == "_" ? names.last ?? $0 : $0)" }
        }
    }

    private static func isNumber(_ type: Substring) -> Bool {
        types.contains(type.prefix { $0.isLetter || $0.isNumber || $0 == "." })
            && !type.contains("...")
    }

    private static func parameters(of list: Substring) -> [Substring] {
        var (depth, begin, parts) = (0, list.index(after: list.startIndex), [Substring]())
        for index in list.indices {
            switch list[index] {
            case "(", "[": depth += 1
            case ")", "]": depth -= 1
            case "," where depth == 1:
                parts.append(list[begin..<index])
                begin = list.index(after: index)
            default: break
            }
            if depth == 0 { return parts + [list[begin..<index]] }
        }
        return parts
    }
}

/// The ends of the numbers and times that a user can write.
package enum ExtremeNumbers {
    package static let whole: [Int] = [.max, .max - 1, .min, .min + 1, 0, 1, -1]
    package static let real: [Double] = [
        .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .leastNonzeroMagnitude, .nan,
        .infinity, -.infinity, 0, -1, 1e19, -1e19,
    ]
    package static let times: [Duration] = [
        .seconds(Int64.max), .seconds(Int64.min), .zero, .seconds(-1), .nanoseconds(1),
        .nanoseconds(Int64.max), .nanoseconds(Int64.min), .seconds(10_000_000_000),
    ]
}
