// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// A multipart form (RFC 7578): named parts of text, bytes, files and streams.
///
/// ```swift
/// var form = MultipartFormData()
/// form.append("Ada", name: "user")
/// form.append(file: photo, name: "photo")
/// try await client.post("users", multipart: form).empty()
/// ```
///
/// The form needs little memory, because files are read during the send. If the length of each part
/// is known, the length of the form is known. If a part is a one-shot stream, the form can be sent
/// only once.
///
/// Names and file names have the escapes of browsers (WHATWG HTML §4.10.21.8): `"`, CR and LF
/// become `%22`, `%0D` and `%0A`. Other control characters also have percent escapes. Text beyond
/// ASCII is sent as UTF-8. If a part is invalid, the call fails before anything is sent.
public struct MultipartFormData: Sendable {
    /// The delimiter between the parts.
    public let boundary: String

    private let isGiven: Bool
    private var pieces: [RequestBody] = []
    private var fault: ClientError?

    /// Creates an empty form.
    /// - Parameter boundary: The delimiter between the parts: 1 to 70 characters of RFC 2046 §5.1.1
    ///   that occur in no part. The form checks that the boundary does not occur in parts in
    ///   memory. The default is 128 bits from the system's secure random generator.
    public init(boundary: String? = nil) {
        isGiven = boundary != nil
        self.boundary = boundary ?? Self.randomBoundary()
        if !Self.isBoundary(self.boundary) {
            fault = ClientError(
                .invalidRequest, "the boundary must be 1 to 70 characters of RFC 2046 §5.1.1")
        }
    }

    /// Adds text.
    /// - Parameters:
    ///   - text: The text, which is sent as UTF-8.
    ///   - name: The name of the part.
    ///   - type: The media type of the part; if nil, the part has no `Content-Type`, as in
    ///     browsers.
    public mutating func append(_ text: String, name: String, type: MediaType? = nil) {
        append(Data(text.utf8), name: name, type: type)
    }

    /// Adds bytes.
    public mutating func append(
        _ data: Data, name: String, filename: String? = nil, type: MediaType? = nil
    ) { append(.data(data, type: type), name: name, filename: filename) }

    /// Adds a file, which is read during the send.
    /// - Parameters:
    ///   - file: The file.
    ///   - name: The name of the part.
    ///   - filename: The file name to send; if nil, the last component of the path.
    ///   - type: The media type; if nil, the type for the file name's extension, or
    ///     `application/octet-stream` for an unknown extension. If the file has no extension, a
    ///     file name or a type is necessary.
    public mutating func append(
        file: URL, name: String, filename: String? = nil, type: MediaType? = nil
    ) {
        guard file.isFileURL else { return refuse("the URL of a part's file is not a file URL") }
        let ownName = file.lastPathComponent
        if filename == nil, type == nil, file.pathExtension.isEmpty {
            return refuse("the file has no extension; pass its media type or a file name")
        }
        let told = filename ?? ownName
        let guess = MediaType(fileExtension: URL(filePath: told).pathExtension)
        append(
            .file(file, type: type ?? guess ?? .octetStream), name: name, filename: told)
    }

    /// Adds a body of any kind, for example a stream or a range of a file.
    /// - Parameters:
    ///   - body: The content, whose media type becomes the type of the part.
    ///   - name: The name of the part.
    ///   - filename: The file name to send, if any.
    ///   - headers: More header fields of the part.
    public mutating func append(
        _ body: RequestBody, name: String, filename: String? = nil, headers: HTTPHeaders = [:]
    ) {
        var headers = headers
        if let type = body.contentType { headers.setIfAbsent(.contentType, type.description) }
        headers.remove(.contentDisposition)
        if let fault = headers.sendingFault {
            return refuse("in a part of the form: " + fault)
        }
        // A random boundary needs no check, because nobody can predict the boundary.
        if isGiven, body.inMemory?.firstPlace(of: Data("--\(boundary)".utf8)) != nil {
            return refuse("a part contains the form's boundary; pass another, or pass no boundary")
        }
        var head = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.escaped(name))\""
        if let filename { head += "; filename=\"\(Self.escaped(filename))\"" }
        head += "\r\n"
        for field in headers { head += "\(field.name.rawValue): \(field.value)\r\n" }
        pieces += [.data(Data((head + "\r\n").utf8)), body, .data(Data("\r\n".utf8))]
    }

    func body() throws -> RequestBody {
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

extension RequestBody {
    /// Sends a multipart form as `multipart/form-data`.
    ///
    /// If the form is invalid, the call fails with
    /// ``/TurnpikeCore/ClientError/Code/invalidRequest``.
    public static func multipart(_ form: MultipartFormData) -> RequestBody {
        .catching { try form.body() }
    }
}

extension Client {
    /// Describes a POST of a multipart form.
    public func post(
        _ target: some TargetConvertible, multipart form: MultipartFormData, query: Query = [:],
        headers: HTTPHeaders = [:]
    ) -> Call {
        request(.post, target, query: query, headers: headers, body: .multipart(form))
    }
}

extension MediaType {
    init?(fileExtension: String) {
        guard let text = Self.byExtension[fileExtension.lowercased()],
            let type = MediaType(parsing: text)
        else { return nil }
        self = type
    }

    private static let byExtension: [String: String] = Dictionary(
        uniqueKeysWithValues: table.split { $0 == "," || $0 == "\n" }.flatMap { entry in
            let words = entry.split(separator: " ").map(String.init)
            return words.dropFirst().map { ($0, words[0]) }
        })

    // The types that IANA has registered, or the usual types of servers for extensions without a
    // registration.
    private static let table = """
        application/epub+zip epub, application/geo+json geojson, application/gzip gz,
        application/java-archive jar, application/json json map, application/ld+json jsonld,
        application/msword doc, application/octet-stream bin, application/ogg ogx,
        application/pdf pdf, application/pgp-signature asc sig, application/pkcs7-mime p7m,
        application/pkix-cert cer, application/postscript ps eps, application/rtf rtf,
        application/sql sql, application/toml toml, application/vnd.apple.mpegurl m3u8,
        application/vnd.android.package-archive apk, application/vnd.ms-excel xls,
        application/vnd.ms-powerpoint ppt, application/vnd.oasis.opendocument.presentation odp,
        application/vnd.oasis.opendocument.spreadsheet ods,
        application/vnd.oasis.opendocument.text odt,
        application/vnd.openxmlformats-officedocument.presentationml.presentation pptx,
        application/vnd.openxmlformats-officedocument.spreadsheetml.sheet xlsx,
        application/vnd.openxmlformats-officedocument.wordprocessingml.document docx,
        application/vnd.rar rar, application/vnd.sqlite3 sqlite db, application/wasm wasm,
        application/x-7z-compressed 7z, application/x-bzip2 bz2, application/x-ndjson ndjson,
        application/x-plist plist, application/x-sh sh, application/x-tar tar,
        application/x-x509-ca-cert crt der pem, application/x-xz xz, application/xhtml+xml xhtml,
        application/xml xml, application/yaml yaml yml, application/zip zip, application/zstd zst,
        audio/aac aac, audio/flac flac, audio/mp4 m4a, audio/mpeg mp3, audio/ogg ogg oga opus,
        audio/wav wav,
        font/otf otf, font/ttf ttf, font/woff woff, font/woff2 woff2,
        image/avif avif, image/bmp bmp, image/gif gif, image/heic heic, image/heif heif,
        image/jpeg jpg jpeg, image/jxl jxl, image/png png, image/svg+xml svg, image/tiff tif tiff,
        image/vnd.microsoft.icon ico, image/webp webp,
        text/calendar ics, text/css css, text/csv csv, text/html html htm, text/javascript js mjs,
        text/markdown md markdown, text/plain txt text log conf, text/tab-separated-values tsv,
        text/vcard vcf,
        video/mp4 mp4 m4v, video/mpeg mpg mpeg, video/ogg ogv, video/quicktime mov, video/webm webm,
        video/x-matroska mkv, video/x-msvideo avi
        """
}
