// SPDX-License-Identifier: Apache-2.0

/// The content of `/metrics`.
struct Figures {
    private struct Line {
        let name: Substring
        let labels: Substring
        let value: Double
    }

    private let lines: [Line]

    init(_ text: String) {
        lines = text.split(separator: "\n").compactMap { line in
            guard line.first != "#", let space = line.lastIndex(of: " "),
                let value = Double(line[line.index(after: space)...])
            else { return nil }
            let name = line.prefix { $0 != "{" && $0 != " " }
            return Line(name: name, labels: line[name.endIndex..<space], value: value)
        }
    }

    /// The sum of the series with a name, of those whose labels contain all parts.
    func sum(_ name: String, _ parts: String...) -> Int {
        Int(
            lines.filter { line in
                line.name == name && parts.allSatisfy { line.labels.contains($0) }
            }
            .reduce(0) { $0 + $1.value })
    }
}
