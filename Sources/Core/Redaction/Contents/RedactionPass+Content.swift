import Foundation

/// Whole contents, by their media types.
extension RedactionPass {
    /// Content without its secrets.
    /// - Parameters:
    ///   - content: The bytes.
    ///   - types: What the message says of their type: several lines are a contradiction.
    ///   - isCut: Whether the content goes on where it ends here.
    /// - Returns: The bytes; a placeholder where content of a kind that is read cannot be read to its
    ///   end.
    func content(_ content: [UInt8], types: [String], isCut: Bool) -> [UInt8] {
        if content.isEmpty { return content }
        depth += 1
        defer { depth -= 1 }
        let parsed = types.map { MediaType(parsing: $0) }
        if Set(parsed.map { $0?.essence }).count > 1 {
            return withhold(content, as: "content", Unreadable("it has several types"))
        }
        let type = parsed.first ?? nil
        guard let kind = type.flatMap({ ContentKind($0) }) ?? Self.kindByForm(content, type) else {
            return other(content, type, isCut)
        }
        if depth > Self.maxDepth {
            return withhold(content, as: kind.name, Self.isTooDeep)
        }
        do {
            return try read(
                content, as: kind, labels: parsed.compactMap { $0?[parameter: "charset"] }, isCut)
        } catch {
            return withhold(content, as: kind.name, error)
        }
    }

    private static var isTooDeep: Unreadable { Unreadable("it stands in too many others") }

    // Boundaries of multipart content that nobody announced, and forms.
    private static func kindByForm(_ content: [UInt8], _ type: MediaType?) -> ContentKind? {
        if type?.type == "text" { return nil }
        if let boundary = MultipartRedactor.boundary(sniffing: content) {
            return .multipart(boundary: boundary)
        }
        return FormRedactor.isOne(content) ? .form : nil
    }

    private func read(
        _ content: [UInt8], as kind: ContentKind, labels: [String], _ isCut: Bool
    ) throws(Unreadable) -> [UInt8] {
        if kind.isBinary || (kind == .propertyList && BinaryPropertyList.isOne(content)) {
            return try kind.redacted(content, isCut: isCut, in: self)
        }
        let labels =
            kind == .xml || kind == .propertyList
            ? labels + XMLRedactor.declaredEncodings(content) : labels
        let coding = try TextCoding(of: content, labels: labels, isCut: isCut)
        let text = try coding.decode(content, isCut: isCut)
        work += 2 * content.count
        let wasForeign = isForeign
        isForeign = coding.isForeign
        defer { isForeign = wasForeign }
        let values = try kind.redacted(text, isCut: isCut, in: self)
        // A last look: at names, and at what stands between the values.
        let shown =
            SecretScanner.redactedBinary(values, isText: true, isCut: isCut, in: self) ?? values
        if !keepsCoding { return shown }
        return shown == text && !isCut ? content : coding.encode(shown)
    }

    // Content of no kind that is read: text or bytes.
    private func other(_ content: [UInt8], _ type: MediaType?, _ isCut: Bool) -> [UInt8] {
        if BinaryPropertyList.isOne(content) {
            do throws(Unreadable) {
                if depth > Self.maxDepth { throw Self.isTooDeep }
                return try BinaryPropertyList.redacted(content, in: self)
            } catch {
                return withhold(content, as: ContentKind.propertyList.name, error)
            }
        }
        let labels = [type?[parameter: "charset"]].compactMap(\.self)
        guard let coding = try? TextCoding(of: content, labels: labels, isCut: isCut),
            !coding.isForeign || type?.type == "text" || purpose == .display,
            let text = try? coding.decode(content, isCut: isCut), type?.isMedia != true
        else { return SecretScanner.redactedBinary(content, isCut: isCut, in: self) ?? content }
        work += 2 * content.count
        // What is said to be wide may be narrow all the same.
        if coding.isWide,
            let shown = SecretScanner.redactedBinary(content, isText: true, isCut: isCut, in: self)
        {
            return shown
        }
        let shown = leaf(text, isCut: isCut)
        if !keepsCoding { return shown ?? text }
        guard let shown else { return content }
        return coding.encode(shown)
    }
}

extension MediaType {
    /// Whether it is that of pictures, sound, video or fonts, and no text.
    fileprivate var isMedia: Bool {
        ["image", "audio", "video", "font"].contains(type) && suffix != "xml"
    }
}
