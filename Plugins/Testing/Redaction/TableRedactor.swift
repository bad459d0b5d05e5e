// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// Copies tables of text: CSV (RFC 4180) and TSV.
///
/// The first row has the column names. So does each of the next few rows that has a secret name,
/// because titles and remarks may precede the names. A blank line may begin another table, so the
/// rows after it are checked in the same way. From there on, the cells of a column with a secret
/// name are hidden, and so are the secrets in all other cells. If the cells of a row cannot be
/// assigned to the columns and a column is secret, the row is withheld.
struct TableRedactor {
    private let bytes: [UInt8]
    private let contents: ContentRedactor
    private let isCut: Bool
    private let separator: UInt8
    private var output: [UInt8] = []
    private var copied = 0
    private var columns: [Column]?
    // The number of rows since the first row with several cells, or since a blank line.
    private var rows = 0

    // The most rows between a title that looks like column names and the real column names.
    private static let mostTitles = 5

    private enum Column {
        case plain, secret
        /// Its cells name the value in another cell of the row.
        case names
        case value
    }

    private struct Cell {
        /// Without the quotes.
        let range: Range<Int>
        let isQuoted: Bool
    }

    private struct Row {
        var cells: [Cell] = []
        /// Whether a cell contains a quote, so that other programs may see other cells.
        var isOdd = false
        var isBeforeBlankLine = false
        var end = 0
    }

    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if a quoted cell has no end.
    static func redacted(
        _ bytes: [UInt8], isTabbed: Bool, isCut: Bool, in contents: ContentRedactor
    ) throws(ClientError) -> [UInt8] {
        var redactor = TableRedactor(
            bytes: bytes, contents: contents, isCut: isCut,
            separator: isTabbed ? 0x09 : separator(of: bytes, contents.pass.redaction))
        return try redactor.redacted()
    }

    private init(bytes: [UInt8], contents: ContentRedactor, isCut: Bool, separator: UInt8) {
        self.bytes = bytes
        self.contents = contents
        self.isCut = isCut
        self.separator = separator
        output.reserveCapacity(bytes.count)
    }

    private static let separators = Array(",;\t|".utf8)

    // Returns the most frequent separator of the first lines: spreadsheets of some countries use
    // semicolons. A title may contain another separator than the table below. A line without the
    // title's separator shows this if it contains the names of secret columns.
    private static func separator(of bytes: [UInt8], _ redaction: Redaction) -> UInt8 {
        let lines = bytes.prefix(65_536).split { $0 == 0x0A || $0 == 0x0D }.prefix(mostTitles + 1)
        var counts = [Int](repeating: 0, count: separators.count)
        for line in lines.prefix(3) {
            for byte in unquoted(line) {
                if let index = separators.firstIndex(of: byte) { counts[index] += 1 }
            }
            if counts.contains(where: { $0 > 0 }) { break }
        }
        let usual = separators[counts.firstIndex(of: counts.max() ?? 0) ?? 0]
        let others = lines.filter { !unquoted($0).contains(usual) }
        return separators.first { separator in
            // A separator within quotes does not count.
            separator != usual
                && others.contains { line in
                    line.contains(separator)
                        && line.split(separator: separator).contains { name in
                            redaction.hides(key: name.filter { $0 != UInt8(ascii: "\"") })
                        }
                }
        } ?? usual
    }

    private static func unquoted(_ line: ArraySlice<UInt8>) -> [UInt8] {
        var isQuoted = false
        return line.filter { byte in
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            return !isQuoted
        }
    }

    private mutating func redacted() throws(ClientError) -> [UInt8] {
        var position = 0
        while position < bytes.count {
            let row = try row(at: position)
            copy(row, from: position)
            position = row.end
        }
        return output + bytes[copied...]
    }

    // MARK: Reading

    private func row(at start: Int) throws(ClientError) -> Row {
        var row = Row()
        var position = start
        while true {
            let cell = try cell(at: position, &row.isOdd)
            row.cells.append(cell)
            position = cell.range.upperBound + (cell.isQuoted ? 1 : 0)
            guard position < bytes.count, bytes[position] == separator else { break }
            position += 1
        }
        let end = min(position, bytes.count)
        while position < bytes.count, bytes[position] == 0x0A || bytes[position] == 0x0D {
            position += 1
        }
        row.end = min(position, bytes.count)
        let breaks = bytes[end..<row.end]
        row.isBeforeBlankLine = breaks.count > 1 && !breaks.elementsEqual("\r\n".utf8)
        return row
    }

    private func cell(at start: Int, _ isOdd: inout Bool) throws(ClientError) -> Cell {
        guard start < bytes.count, bytes[start] == UInt8(ascii: "\"") else {
            var end = start
            while end < bytes.count, !endsCell(end) {
                if bytes[end] == UInt8(ascii: "\"") { isOdd = true }
                end += 1
            }
            return Cell(range: start..<end, isQuoted: false)
        }
        var end = start + 1
        while end < bytes.count {
            guard bytes[end] == UInt8(ascii: "\"") else {
                end += 1
                continue
            }
            let next = end + 1
            guard next < bytes.count, bytes[next] == UInt8(ascii: "\"") else { break }
            end += 2
        }
        if end >= bytes.count {
            guard isCut else { throw .unreadable("a quoted cell has no end", at: start) }
            return Cell(range: (start + 1)..<bytes.count, isQuoted: true)
        }
        guard end + 1 == bytes.count || endsCell(end + 1) else {
            throw .unreadable("text follows a quoted cell", at: end + 1)
        }
        return Cell(range: (start + 1)..<end, isQuoted: true)
    }

    private func endsCell(_ place: Int) -> Bool {
        bytes[place] == separator || bytes[place] == 0x0A || bytes[place] == 0x0D
    }

    private func meaning(of cell: Cell) -> [UInt8] {
        let text = Array(bytes[cell.range])
        let quote = UInt8(ascii: "\"")
        guard cell.isQuoted, text.contains(quote) else { return text }
        var plain: [UInt8] = []
        var isSecond = false
        for byte in text {
            isSecond = byte == quote && !isSecond && plain.last == quote
            if !isSecond { plain.append(byte) }
        }
        return plain
    }

    // MARK: Rows

    private mutating func copy(_ row: Row, from start: Int) {
        defer { rows = row.isBeforeBlankLine || columns == nil ? 0 : rows + 1 }
        addNames(in: row, from: start)
        guard let columns else {
            // Titles and remarks may precede the column names.
            let namesSecret = row.cells.contains {
                if case .plain = column($0) { false } else { true }
            }
            let isHeader =
                (row.cells.count > 1 || namesSecret)
                && !bytes[start..<row.end].starts(with: "sep=".utf8)
            if isHeader || row.end == bytes.count { self.columns = row.cells.map(column) }
            for cell in row.cells { copy(cell, isSecret: false) }
            return
        }
        let content = bytes[start..<end(of: row)]
        if content.isEmpty || contents.isPlaceholder(content) { return }
        let isLast = isCut && row.end == bytes.count
        let isWhole =
            row.cells.count == columns.count || (isLast && row.cells.count < columns.count)
        let hasSecrets = columns.contains { if case .plain = $0 { false } else { true } }
        if hasSecrets, row.isOdd || !isWhole {
            return replace(
                content.indices,
                with: contents.withhold(
                    content, as: "a row", "its cells do not match the column names"))
        }
        var namesSecret = false
        for (cell, column) in zip(row.cells, columns) where column == .names {
            namesSecret = namesSecret || contents.pass.redaction.hides(key: meaning(of: cell))
        }
        for (index, cell) in row.cells.enumerated() {
            let column = index < columns.count ? columns[index] : .plain
            copy(cell, isSecret: column == .secret || (namesSecret && column == .value))
        }
    }

    // A title with a separator was read as the column names. If one column names the values of
    // another, its cells are not column names.
    private mutating func addNames(in row: Row, from start: Int) {
        guard rows <= Self.mostTitles, var columns,
            !ContentRedactor.looksWithheld(bytes[start..<end(of: row)])
        else { return }
        let names = row.cells.map(column)
        guard names.contains(where: { $0 != .plain }) else { return }
        // Rows that do not match secret names are withheld.
        if columns.contains(.secret), names.count != columns.count { return }
        let hasPairs = columns.contains(.names) && columns.contains(.value)
        for (index, name) in names.enumerated() {
            if index >= columns.count {
                columns.append(name)
            } else if hasPairs ? name == .secret && columns[index] != .names : name != .plain,
                columns[index] != .secret
            {
                columns[index] = name
            }
        }
        self.columns = columns
    }

    private func column(_ cell: Cell) -> Column {
        let name = meaning(of: cell)
        if contents.pass.redaction.hides(key: name) { return .secret }
        if Redaction.namesAnother(name) { return .names }
        return Redaction.isValueOfAnother(name) ? .value : .plain
    }

    private func end(of row: Row) -> Int { row.cells.last.map { end(of: $0) } ?? row.end }

    private func end(of cell: Cell) -> Int {
        min(cell.range.upperBound + (cell.isQuoted ? 1 : 0), bytes.count)
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
        let needsQuotes =
            !cell.isQuoted && shown.contains { "\"\r\n".utf8.contains($0) || $0 == separator }
        let doubled =
            cell.isQuoted || needsQuotes
            ? shown.flatMap { $0 == UInt8(ascii: "\"") ? [$0, $0] : [$0] } : shown
        let quote = needsQuotes ? [UInt8(ascii: "\"")] : []
        replace(cell.range, with: quote + doubled + quote)
    }

    private mutating func replace(_ range: Range<Int>, with other: [UInt8]) {
        output += bytes[copied..<range.lowerBound]
        output += other
        copied = range.upperBound
    }
}
