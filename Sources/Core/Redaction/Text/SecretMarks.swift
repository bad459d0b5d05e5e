// SPDX-License-Identifier: Apache-2.0

/// The ranges of a text to hide.
struct SecretMarks {
    private var hidden: [Range<Int>] = []
    private var fields: [Range<Int>] = []

    var isEmpty: Bool { hidden.isEmpty }

    /// Hides a range.
    mutating func hide(_ range: Range<Int>) {
        if !range.isEmpty { hidden.append(range) }
    }

    /// Adds a range that is hidden completely if any part of it is hidden.
    ///
    /// Ranges must be added in order and must not overlap.
    mutating func noteField(_ range: Range<Int>) {
        if !range.isEmpty { fields.append(range) }
    }

    /// Returns the text with each run of hidden bytes replaced by the mark.
    func applied(to source: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(source.count)
        var copied = 0
        for run in runs() {
            text += source[copied..<run.lowerBound]
            text += RedactionPass.mark
            copied = run.upperBound
        }
        return text + source[copied...]
    }

    private func runs() -> [Range<Int>] {
        let runs = Self.joined(hidden)
        var touched: [Range<Int>] = []
        var next = 0
        for field in fields {
            while next < runs.count, runs[next].upperBound <= field.lowerBound { next += 1 }
            if next < runs.count, runs[next].overlaps(field) { touched.append(field) }
        }
        return touched.isEmpty ? runs : Self.joined(runs + touched)
    }

    // Sorts ranges and merges those that overlap or touch.
    private static func joined(_ ranges: [Range<Int>]) -> [Range<Int>] {
        var runs: [Range<Int>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = runs.last, range.lowerBound <= last.upperBound {
                runs[runs.count - 1] =
                    last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                runs.append(range)
            }
        }
        return runs
    }
}
