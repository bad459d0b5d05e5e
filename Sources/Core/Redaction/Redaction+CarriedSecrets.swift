// SPDX-License-Identifier: Apache-2.0

import TurnpikeRedaction
import TurnpikeSupport

extension Redaction {
    /// Returns rules that also hide the secrets of messages in other places, because a server may
    /// repeat a token in a header field or in an error.
    /// - Parameters:
    ///   - requests: The requests, with the content that is in memory, up to 64 KiB.
    ///   - sections: The header sections of responses.
    /// - Returns: The rules.
    public func hiding(secretsOf requests: [Request], _ sections: [HTTPHeaders]) -> Redaction {
        hiding(secretsOf: requests, sections, content: Data())
    }

    // The content, perhaps truncated, belongs to the last header section.
    func hiding(
        secretsOf requests: [Request?], _ sections: [HTTPHeaders?], content: Data = Data()
    ) -> Redaction {
        let search = SecretSearch(rules)
        for case let request? in requests {
            _ = search.url(request.targetURI.text)
            for field in request.headers { _ = search.header(field.name.lowercased, field.value) }
            // Larger content is not searched for secrets each time an error is printed.
            if let data = request.body.inMemory, data.count <= 65_536 {
                search.learn(data, request.headers, isCut: false)
            }
        }
        let sections = sections.compactMap(\.self)
        for field in sections.joined() { _ = search.header(field.name.lowercased, field.value) }
        search.learn(content, sections.last ?? [:], isCut: true)
        var carried = self
        carried.rules.known.insert(search)
        return carried
    }
}

extension SecretSearch {
    fileprivate func learn(_ content: Data, _ headers: HTTPHeaders, isCut: Bool) {
        if content.isEmpty { return }
        let type = headers.values(of: .contentType).first.flatMap { MediaType(parsing: $0) }
        learn(content: Array(content), type, isCut: isCut)
    }

    /// Finds values with secret names in forms, JSON, parts and tables, and other secrets.
    private func learn(content: [UInt8], _ type: MediaType?, isCut: Bool) {
        let text = Self.inUTF8(content)
        if type?.type == "multipart", let boundary = type?[parameter: "boundary"] {
            return learn(parts: text, boundary, isCut: isCut)
        }
        if ["csv", "tab-separated-values", "tsv"].contains(type?.subtype) { learn(table: text) }
        let kind = type.flatMap { ShownContent($0) } ?? ShownContent(sniffing: text, isCut: isCut)
        _ = kind?.read(text, isCut: isCut, in: self)
    }

    // RFC 7578: the field `Content-Disposition` of a part has the part's name.
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
                    isSecret = name.map { rules.hides(key: $0.utf8) } ?? false
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
}
