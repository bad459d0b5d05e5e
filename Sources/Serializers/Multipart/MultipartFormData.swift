public import Foundation
public import TurnpikeCore

/// A form of parts (RFC 7578): text, bytes, files and streams under names.
///
/// ```swift
/// var form = MultipartFormData()
/// form.append("Ada", name: "user")
/// form.append(file: photo, name: "photo")
/// try await client.post("users", multipart: form).empty()
/// ```
///
/// Files are read while they are sent, so that a form of any size takes little memory, and its
/// length is known in advance if those of its parts are. A form can be sent again if its parts can:
/// all but one-shot streams.
///
/// Names and file names are escaped as browsers do it (WHATWG HTML §4.10.21.8): `"`, CR and LF, and
/// with them all other control characters, become `%22`, `%0D`, `%0A` and so on; text beyond ASCII
/// stands as UTF-8. What is wrong with a part fails the call before anything is sent.
public struct MultipartFormData: Sendable {
    /// What stands between the parts.
    public let boundary: String

    private let isGiven: Bool
    private var pieces: [Body] = []
    private var fault: ClientError?

    /// Creates an empty form.
    /// - Parameter boundary: What stands between the parts, 1 to 70 characters of RFC 2046 §5.1.1
    ///   that occur in none of them, which is checked of those in memory; without one, 128 bits of
    ///   the system's secure generator.
    public init(boundary: String? = nil) {
        isGiven = boundary != nil
        self.boundary = boundary ?? Self.randomBoundary()
        if !Self.isBoundary(self.boundary) {
            fault = ClientError(
                .invalidRequest, "the boundary is not 1 to 70 characters of RFC 2046 §5.1.1")
        }
    }

    /// Adds text.
    /// - Parameters:
    ///   - text: The text, sent as UTF-8.
    ///   - name: The part's name.
    ///   - type: The part's media type; none is sent without one, as browsers do for text.
    public mutating func append(_ text: String, name: String, type: MediaType? = nil) {
        append(Data(text.utf8), name: name, type: type)
    }

    /// Adds bytes.
    public mutating func append(
        _ data: Data, name: String, filename: String? = nil, type: MediaType? = nil
    ) { append(.data(data, type: type), name: name, filename: filename) }

    /// Adds a file, which is read when it is sent.
    /// - Parameters:
    ///   - file: The file.
    ///   - name: The part's name.
    ///   - filename: The file name that is told; the file's own where nil.
    ///   - type: The media type; that of the file name's extension where nil
    ///     (``TurnpikeCore/MediaType/init(fileExtension:)``), or `application/octet-stream`. A file
    ///     without an extension needs one of the two.
    public mutating func append(
        file: URL, name: String, filename: String? = nil, type: MediaType? = nil
    ) {
        guard file.isFileURL else { return refuse("the URL of a part's file is no file URL") }
        let ownName = file.lastPathComponent
        if filename == nil, type == nil, file.pathExtension.isEmpty {
            return refuse("the file has no extension to tell its type; name its type or file name")
        }
        let told = filename ?? ownName
        let guess = MediaType(fileExtension: URL(filePath: told).pathExtension)
        append(
            .file(file, type: type ?? guess ?? .octetStream), name: name, filename: told)
    }

    /// Adds a body of any kind: a stream, or a range of a file.
    /// - Parameters:
    ///   - body: The content; its media type is the part's.
    ///   - name: The part's name.
    ///   - filename: The file name that is told, if any.
    ///   - headers: More header fields of the part.
    public mutating func append(
        _ body: Body, name: String, filename: String? = nil, headers: HTTPHeaders = [:]
    ) {
        var headers = headers
        if let type = body.contentType { headers.setIfAbsent(.contentType, type.description) }
        headers.remove(.contentDisposition)
        if let fault = headers.sendingFault {
            return refuse("in a part of the form: " + fault)
        }
        // Nobody knows one that was made by chance beforehand.
        if isGiven, body.inMemory?.range(of: Data("--\(boundary)".utf8)) != nil {
            return refuse("a part holds the form's boundary; name another one, or none")
        }
        var head = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.escaped(name))\""
        if let filename { head += "; filename=\"\(Self.escaped(filename))\"" }
        head += "\r\n"
        for field in headers { head += "\(field.name.rawValue): \(field.value)\r\n" }
        pieces += [.data(Data((head + "\r\n").utf8)), body, .data(Data("\r\n".utf8))]
    }

    func body() throws -> Body {
        if let fault { throw fault }
        let parameter = MediaType.Parameter(name: "boundary", value: boundary)
        return .concatenating(
            pieces + [.data(Data("--\(boundary)--\r\n".utf8))],
            type: MediaType("multipart", "form-data", parameters: [parameter]))
    }

    private mutating func refuse(_ reason: String) {
        fault = fault ?? ClientError(.invalidRequest, reason)
    }

    private static func randomBoundary() -> String {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
        return "turnpike-" + bytes.hexadecimal
    }

    private static func isBoundary(_ text: String) -> Bool {
        (1...70).contains(text.utf8.count) && text.last != " "
            && text.unicodeScalars.allSatisfy {
                ("a"..."z").contains($0) || ("A"..."Z").contains($0) || ("0"..."9").contains($0)
                    || "'()+_,-./:=? ".unicodeScalars.contains($0)
            }
    }

    private static func escaped(_ name: String) -> String {
        var result = ""
        for scalar in name.unicodeScalars {
            if scalar.value < 0x20 || scalar.value == 0x7F || scalar == "\"" {
                let digits = String(scalar.value, radix: 16, uppercase: true)
                result += "%" + (digits.count < 2 ? "0" : "") + digits
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension Body {
    /// A form of parts, as `multipart/form-data`.
    ///
    /// A form that cannot be sent fails its call as
    /// ``/TurnpikeCore/ClientError/Code/invalidRequest``.
    public static func multipart(_ form: MultipartFormData) -> Body {
        .catching { try form.body() }
    }
}

extension Client {
    /// Describes a POST of a form of parts.
    public func post(
        _ target: Target, multipart form: MultipartFormData, query: Query = [:],
        headers: HTTPHeaders = [:]
    ) -> Call {
        request(.post, target, query: query, headers: headers, body: .multipart(form))
    }
}
