// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// Redacts CSV (RFC 4180) and TSV tables.
///
/// The first row contains the column names. Cells below a secret name are hidden, and secrets in
/// other cells are hidden too. If the column of a secret is uncertain, the table is withheld. This
/// is the case if another row contains the name of a secret, as below a title, or if the cells of a
/// row do not match the columns.
struct TableRedactor {
    private let bytes: [UInt8]
    private let contents: ContentRedactor
    private let isCut: Bool
    private let separator: UInt8
    private var output: [UInt8] = []
    private var copied = 0
    // Whether each column is secret, or nil before the first row.
    private var columns: [Bool]?

    private struct Cell {
        /// The position of the cell without its quotes.
        let range: Range<Int>
        let isQuoted: Bool
    }

    private static let separators = Array(",;\t|".utf8)
    private static let quote = UInt8(ascii: "\"")

    /// Returns the redacted table, or throws an error if the table must be withheld.
    static func redacted(
        _ bytes: [UInt8], isTabbed: Bool, isCut: Bool, in contents: ContentRedactor
    ) throws(ClientError) -> [UInt8] {
        // Some spreadsheets use semicolons, and may declare the separator in the first line.
        let isStated = bytes.starts(with: "sep=".utf8) && bytes.count > 4
        if isStated, isLineEnd(bytes[4]) || bytes[4] == quote {
            throw .unreadable("the declared separator cannot be one", at: 4)
        }
        let first = bytes.firstIndex(where: isLineEnd) ?? bytes.count
        let usual = separators.max { left, right in
            count(left, in: bytes[..<first]) < count(right, in: bytes[..<first])
        }
        var redactor = TableRedactor(
            bytes: bytes, contents: contents, isCut: isCut,
            separator: isTabbed ? 0x09 : isStated ? bytes[4] : usual ?? separators[0])
        return try redactor.redacted(from: isStated ? first : 0)
    }

    private init(bytes: [UInt8], contents: ContentRedactor, isCut: Bool, separator: UInt8) {
        self.bytes = bytes
        self.contents = contents
        self.isCut = isCut
        self.separator = separator
    }

    // Separators within quotes are not counted.
    private static func count(_ separator: UInt8, in line: ArraySlice<UInt8>) -> Int {
        var isQuoted = false
        return line.count { byte in
            if byte == quote { isQuoted.toggle() }
            return byte == separator && !isQuoted
        }
    }

    private static func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

    // MARK: Rows

    private mutating func redacted(from start: Int) throws(ClientError) -> [UInt8] {
        var position = start
        while position < bytes.count {
            if Self.isLineEnd(bytes[position]) {
                position += 1
                continue
            }
            let begin = position
            var cells: [Cell] = []
            var isOdd = false
            while true {
                let cell = try cell(at: position, &isOdd)
                cells.append(cell)
                position = end(of: cell)
                guard position < bytes.count, bytes[position] == separator else { break }
                position += 1
            }
            try copy(cells, begin..<position, isOdd)
        }
        return output + bytes[copied...]
    }

    private mutating func copy(
        _ cells: [Cell], _ row: Range<Int>, _ isOdd: Bool
    ) throws(ClientError) {
        let names = cells.map { contents.pass.redaction.hides(key: meaning(of: $0)) }
        let words = cells.map(namesOfSecrets)
        let isUnclear =
            columns.map { columns in
                words.indices.contains { words[$0] > 0 && !($0 < columns.count && columns[$0]) }
            } ?? (words.reduce(0, +) != names.count { $0 })
        if isUnclear { throw .unreadable("a row has the name of a secret", at: row.lowerBound) }
        let columns = columns ?? cells.map { _ in false }
        let isLast = isCut && row.upperBound == bytes.count
        if columns.contains(true),
            isOdd || (isLast ? cells.count > columns.count : cells.count != columns.count)
        {
            throw .unreadable("the cells of a row do not match the columns", at: row.lowerBound)
        }
        for (index, cell) in cells.enumerated() {
            copy(cell, isSecret: index < columns.count && columns[index])
        }
        self.columns = self.columns ?? names
    }

    // The cell may contain other separators than the first row. Text with inner quotes is not a
    // name, but may be JSON.
    private func namesOfSecrets(in cell: Cell) -> Int {
        meaning(of: cell).split { Self.separators.contains($0) }.count { word in
            let isQuoted = word.count > 1 && word.first == Self.quote && word.last == Self.quote
            let name = isQuoted ? word.dropFirst().dropLast() : word
            return !name.contains(Self.quote) && contents.pass.redaction.hides(key: name)
        }
    }

    // MARK: Cells

    private func cell(at start: Int, _ isOdd: inout Bool) throws(ClientError) -> Cell {
        guard start < bytes.count, bytes[start] == Self.quote else {
            let end = bytes[start...].firstIndex(where: endsCell) ?? bytes.count
            // Programs may split text with quotes into different cells.
            if bytes[start..<end].contains(Self.quote) { isOdd = true }
            return Cell(range: start..<end, isQuoted: false)
        }
        var end = start + 1
        while end < bytes.count {
            if bytes[end] != Self.quote {
                end += 1
            } else if end + 1 < bytes.count, bytes[end + 1] == Self.quote {
                end += 2
            } else {
                break
            }
        }
        if end >= bytes.count {
            guard isCut else { throw .unreadable("a quoted cell has no end", at: start) }
            return Cell(range: (start + 1)..<bytes.count, isQuoted: true)
        }
        guard end + 1 == bytes.count || endsCell(bytes[end + 1]) else {
            throw .unreadable("text follows a quoted cell", at: end + 1)
        }
        return Cell(range: (start + 1)..<end, isQuoted: true)
    }

    private func endsCell(_ byte: UInt8) -> Bool { byte == separator || Self.isLineEnd(byte) }

    private func end(of cell: Cell) -> Int {
        min(cell.range.upperBound + (cell.isQuoted ? 1 : 0), bytes.count)
    }

    private func meaning(of cell: Cell) -> [UInt8] {
        let text = Array(bytes[cell.range])
        guard cell.isQuoted, text.contains(Self.quote) else { return text }
        var isSecond = false
        return text.filter { byte in
            isSecond = byte == Self.quote && !isSecond
            return byte != Self.quote || isSecond
        }
    }

    private mutating func copy(_ cell: Cell, isSecret: Bool) {
        let text = meaning(of: cell)
        if isSecret {
            if !text.allSatisfy({ $0 <= 0x20 }) {
                replace(cell.range, with: contents.pass.hide(text))
            }
            return
        }
        let isLast = isCut && end(of: cell) == bytes.count
        guard let shown = contents.pass.value(text, isCut: isLast) else { return }
        let needsQuotes = !cell.isQuoted && shown.contains { $0 == Self.quote || endsCell($0) }
        let doubled =
            cell.isQuoted || needsQuotes
            ? shown.flatMap { $0 == Self.quote ? [$0, $0] : [$0] } : shown
        let quote = needsQuotes ? [Self.quote] : []
        replace(cell.range, with: quote + doubled + quote)
    }

    private mutating func replace(_ range: Range<Int>, with other: [UInt8]) {
        output += bytes[copied..<range.lowerBound] + other
        copied = range.upperBound
    }
}
