// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// The secrets of messages, which must be hidden in error texts.
struct CarriedSecrets {
    private(set) var index: SecretIndex

    init(
        of requests: [Request], _ headers: HTTPHeaders? = nil, content: Data = Data(),
        by redaction: Redaction
    ) {
        self.init(
            of: requests, headers.map { [$0] } ?? [], content: content, by: redaction)
    }

    init(
        of requests: [Request], _ sections: [HTTPHeaders], content: Data = Data(),
        by redaction: Redaction
    ) {
        index = redaction.known
        let pass = RedactionPass(redaction)
        for request in requests {
            _ = pass.url(request.targetURI.text)
            for field in request.headers { _ = pass.header(field.name, field.value) }
            if let data = request.body.inMemory, data.count <= Self.maxContent {
                Self.learn(data, request.headers, isCut: false, in: pass)
            }
        }
        for field in sections.joined() { _ = pass.header(field.name, field.value) }
        Self.learn(content, sections.last ?? [:], isCut: true, in: pass)
        index.insert(pass)
    }

    private static func learn(
        _ content: Data, _ headers: HTTPHeaders, isCut: Bool, in pass: RedactionPass
    ) {
        if content.isEmpty { return }
        let type = headers.values(of: .contentType).first.flatMap { MediaType(parsing: $0) }
        pass.learn(content: Array(content), type, isCut: isCut)
    }

    // The maximum number of content bytes that are searched, because each print of an error
    // searches the content.
    static let maxContent = 65_536
}

extension RedactionPass {
    /// Finds values with secret names in forms, JSON, parts and tables, and other secrets.
    fileprivate func learn(content: [UInt8], _ type: MediaType?, isCut: Bool) {
        let text = Self.inUTF8(content)
        if type?.type == "multipart", let boundary = type?[parameter: "boundary"] {
            return learn(parts: text, boundary, isCut: isCut)
        }
        if ["csv", "tab-separated-values", "tsv"].contains(type?.subtype) { learn(table: text) }
        let kind = type.flatMap { ShownContent($0) } ?? ShownContent(sniffing: text, isCut: isCut)
        _ = kind?.read(text, isCut: isCut, in: self)
    }

    // UTF-16 text has a byte order mark, or a zero byte in each ASCII character.
    private static func inUTF8(_ content: [UInt8]) -> [UInt8] {
        guard content.count > 1 else { return content }
        let isLittle = content[1] == 0 || content.starts(with: [0xFF, 0xFE])
        guard isLittle || content[0] == 0 || content.starts(with: [0xFE, 0xFF]) else {
            return content
        }
        let pairs = content.prefix(content.count & ~1)
        let text = String(
            bytes: pairs, encoding: isLittle ? .utf16LittleEndian : .utf16BigEndian)
        return text.map { Array($0.utf8) } ?? content
    }

    // The name of a part is in the field `Content-Disposition` (RFC 7578).
    private func learn(parts content: [UInt8], _ boundary: String, isCut: Bool) {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.maxDepth else { return }
        for part in content.split(separator: Array("\n--\(boundary)".utf8)) {
            var value = part.drop { $0 != 0x0A }.dropFirst()
            var isSecret = false
            var type: MediaType?
            while let end = value.firstIndex(of: 0x0A) {
                let line = value[..<end].filter { $0 != 0x0D }
                value = value[(end + 1)...]
                if line.isEmpty { break }
                let field = String(decoding: line, as: UTF8.self).split(
                    separator: ":", maxSplits: 1)
                switch (field.first?.lowercased(), field.last) {
                case ("content-type", let text?): type = MediaType(parsing: String(text))
                case ("content-disposition", let text?):
                    let name = MediaType(parsing: "x/\(Grammar.trimmed(text))")?[parameter: "name"]
                    isSecret = name.map { redaction.hides(key: $0) } ?? false
                default: break
                }
            }
            if value.last == 0x0D { value.removeLast() }
            if isSecret {
                learn(value, isNamed: true)
            } else if !value.isEmpty {
                learn(
                    content: Array(value), type, isCut: isCut && part.endIndex == content.count)
            }
        }
    }

    // The first row of a table contains the names of the columns (RFC 4180).
    private func learn(table text: [UInt8]) {
        let quote = UInt8(ascii: "\"")
        func split(_ text: ArraySlice<UInt8>, at separators: [UInt8]) -> [ArraySlice<UInt8>] {
            var isQuoted = false
            return text.split(omittingEmptySubsequences: false) { byte in
                if byte == quote { isQuoted.toggle() }
                return !isQuoted && separators.contains(byte)
            }
        }
        let rows = split(text[...], at: [0x0A, 0x0D])
        let separator = ",;\t|".utf8.max { left, right in
            rows[0].count { $0 == left } < rows[0].count { $0 == right }
        }
        let cells = rows.map { row in
            split(row, at: [separator ?? 0x2C]).map { $0.filter { $0 != quote } }
        }
        for (column, name) in cells[0].enumerated() where redaction.hides(key: name) {
            for row in cells.dropFirst() where column < row.count {
                learn(row[column], isNamed: true)
            }
        }
    }
}
