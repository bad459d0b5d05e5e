import Foundation
import TurnpikeCore

/// Copies multipart content (RFC 2046 §5.1.1) and takes the secrets out of its parts.
struct MultipartRedactor {
    let boundary: String
    let redactor: CassetteRedactor

    private static let lineEnd = Data("\r\n".utf8)
    private static let headEnd = Data("\r\n\r\n".utf8)

    func redacted(_ data: Data) -> Data {
        let mark = Data("--\(boundary)".utf8)
        var result = Data()
        var rest = data[...]
        while let place = rest.range(of: mark) {
            result += part(rest[..<place.lowerBound]) + mark
            rest = rest[place.upperBound...]
        }
        return result + rest
    }

    // From behind a boundary's text to the next one: line end, head, blank line, content, line end.
    private func part(_ part: Data) -> Data {
        guard let head = part.range(of: Self.headEnd) else { return part }
        var headers = HTTPHeaders()
        let lines = String(decoding: part[..<head.lowerBound], as: UTF8.self)
        for line in lines.split(whereSeparator: \.isNewline) {
            guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { continue }
            headers.append(
                HTTPHeaders.Name(String(line[..<colon])),
                String(line[line.utf8.index(after: colon)...]))
        }
        var content = part[head.upperBound...]
        let tail = content.suffix(2) == Self.lineEnd ? Self.lineEnd : Data()
        content = content.dropLast(tail.count)
        // Its parameters are written like those of a media type.
        let disposition = headers.first(.contentDisposition).flatMap {
            MediaType(parsing: "x/" + $0)
        }
        let shown = redactor.part(
            Data(content), name: disposition?[parameter: "name"], type: headers.mediaType)
        return part[..<head.upperBound] + shown + tail
    }
}
