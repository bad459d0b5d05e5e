// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

struct HAREntry: Sendable {
    enum Answer: Sendable {
        case response(MockResponse, version: String?)
        /// The reason why there is no response.
        case none(String)
    }

    /// The request for comparison, or nil if the URL is not http or https.
    private(set) var request: RecordedRequest?
    let started: Date?
    let answer: Answer
    let withheld: [String]

    private let method: HTTPMethod
    private let url: URL
    private let headers: HTTPHeaders
    // The content, or nil if the request had content that the file does not contain.
    private let content: Data?

    init(_ entry: HARNode) throws {
        started = try entry.text("startedDateTime").flatMap(HARDate.parse)
        let request = try entry.required("request")
        method = HTTPMethod(try request.required("method").text())
        guard Grammar.isToken(method.rawValue) else {
            throw ClientError(.configuration, "\(request.path).method is not a token")
        }
        let place = try request.required("url")
        guard let url = URL(string: try place.text()) else {
            throw ClientError(.configuration, "\(place.path) is not a URL")
        }
        self.url = url
        headers = try request.headers()
        content = try Self.content(of: request)
        let turnpike = try entry.member("_turnpike")
        withheld = try RecordingMarks(turnpike).withheld
        answer = try Self.answer(
            of: try entry.required("response"), turnpike: turnpike, isHead: method == .head,
            isOurs: turnpike != nil)
    }

    func teach(_ redactor: ExchangeRedactor) {
        redactor.learn(Request(method, url, headers: headers), content: content)
    }

    /// Creates the request for comparison, after the redactor has learned all secrets of the file.
    mutating func prepare(_ redactor: ExchangeRedactor, _ matching: CassetteMatching) {
        guard Origin(url) != nil else { return }
        request = RecordedRequest(
            method: method, url: redactor.url(url.absoluteString),
            headers: redactor.headers(headers),
            content: content.map {
                redactor.content($0, headers: headers, isRecorded: true).content
            }, matching: matching)
    }

    // MARK: Request

    private static func content(of request: HARNode) throws -> Data? {
        guard let posted = try request.member("postData") else {
            return (try request.int("bodySize") ?? 0) > 0 ? nil : Data()
        }
        if try posted.member("_omitted")?.value.bool == true { return nil }
        if let data = try posted.bytes("text", encodings: ["encoding", "_encoding"]), !data.isEmpty
        {
            return data
        }
        let fields = try posted.list("params").map { field in
            let name = PercentEncoding.queryItem.encode(try field.required("name").text())
            let value = try field.text("value") ?? ""
            return name + "=" + PercentEncoding.queryItem.encode(value)
        }
        let type = try posted.text("mimeType").flatMap(MediaType.init(parsing:))
        // Other kinds of forms cannot be restored from their fields.
        if !fields.isEmpty, let type, type.essence != MediaType.form.essence { return nil }
        return Data(fields.joined(separator: "&").utf8)
    }

    // MARK: Response

    private static func answer(
        of response: HARNode, turnpike: HARNode?, isHead: Bool, isOurs: Bool
    ) throws -> Answer {
        guard let code = try response.int("status") else {
            throw ClientError(.configuration, "\(response.path).status is missing")
        }
        // Other tools write a status of 0 or less if there was no response.
        if code <= 0 { return .none("the file has no response to this request") }
        guard (100...999).contains(code) else {
            throw ClientError(
                .configuration, "\(response.path).status: \(code) is not an HTTP status")
        }
        let status = HTTPStatus(code)
        var headers = try response.headers()
        let content = try response.member("content")
        let data = try content?.bytes("text", encodings: ["encoding"])
        try restore(&headers, from: response, status)
        let version = httpVersion(try response.text("httpVersion"))
        if isHead || status.endsWithHead {
            return .response(.status(status, headers: headers), version: version)
        }
        if data == nil, let size = try content?.int("size"), size > 0 {
            return .none("the file does not contain the \(size) bytes of the response's content")
        }
        let body = data ?? Data()
        for name in [HTTPHeaders.Name.transferEncoding, .connection] { headers.remove(name) }
        // Other tools store decoded content, even with a `Content-Encoding`.
        if !isOurs { headers.remove(.contentEncoding) }
        if headers.contains(.contentLength) { headers[.contentLength] = String(body.count) }
        if !isOurs { Self.correctCharset(&headers, of: body) }
        let marks = try RecordingMarks(turnpike)
        return .response(marks.response(status, headers, body), version: version)
    }

    // Some tools store a redirect and cookies without the header fields.
    private static func restore(
        _ headers: inout HTTPHeaders, from response: HARNode, _ status: HTTPStatus
    ) throws {
        let target = try response.text("redirectURL") ?? ""
        if status.isRedirection, !target.isEmpty { headers.setIfAbsent(.location, target) }
        guard !headers.contains(.setCookie) else { return }
        for cookie in try response.list("cookies") {
            var line = try cookie.required("name").text() + "="
            line += try cookie.text("value") ?? ""
            for (key, name) in [("path", "Path"), ("domain", "Domain")] {
                if let text = try cookie.text(key), !text.isEmpty { line += "; \(name)=\(text)" }
            }
            if let date = try cookie.text("expires").flatMap(HARDate.parse) {
                line += "; Expires=\(HTTPDate.format(date))"
            }
            if try cookie.member("httpOnly")?.value.bool == true { line += "; HttpOnly" }
            if try cookie.member("secure")?.value.bool == true { line += "; Secure" }
            headers.appendReceived(.setCookie, line)
            if let defect = headers.defect {
                throw ClientError(.configuration, "\(cookie.path): \(defect)")
            }
        }
    }

    // The text of a HAR file is Unicode, even if the original charset was different.
    private static func correctCharset(_ headers: inout HTTPHeaders, of body: Data) {
        guard let type = headers.mediaType, let charset = type[parameter: "charset"],
            !["utf-8", "utf8", "us-ascii"].contains(charset.lowercased()),
            body.contains(where: { $0 >= 0x80 }), String(validating: body, as: UTF8.self) != nil
        else { return }
        let parameters = type.parameters.map { parameter in
            parameter.name == "charset"
                ? MediaType.Parameter(name: "charset", value: "utf-8") : parameter
        }
        headers[.contentType] =
            MediaType(type.type, type.subtype, parameters: parameters).description
    }

    private static func httpVersion(_ text: String?) -> String? {
        switch text?.lowercased() {
        case "http/1.0": "1.0"
        case "http/1.1": "1.1"
        case "http/2", "http/2.0", "h2": "2"
        case "http/3", "http/3.0", "h3": "3"
        default: nil
        }
    }
}

enum HARDate {
    static func parse(_ text: String) -> Date? {
        (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
            ?? (try? Date(text, strategy: .iso8601))
    }
}
