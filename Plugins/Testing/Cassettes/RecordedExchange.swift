import Foundation
import TurnpikeCore
import TurnpikeSupport

/// A completed exchange that will be written to a file.
struct RecordedExchange {
    let request: Request
    /// The content that was sent, or nil if it is unknown.
    let sent: Data?
    let head: ResponseHead
    let received: Data
    let marks: RecordingMarks
    let encodedLength: Int64?
    let started: Date
    let wait: Duration
    let receive: Duration

    /// Returns the redacted entry, and its contents that were replaced by placeholders.
    func entry(redactor: CassetteRedactor) -> (json: JSONValue, withheld: [String]) {
        redactor.learn(from: request, content: sent)
        redactor.learn(from: head.headers, content: received)
        let wait = milliseconds(wait)
        let receive = milliseconds(receive)
        let (shown, withheld) = redactor.content(
            received, headers: head.headers, isPartial: marks.isPartial)
        let (request, withheldOfRequest) = requestObject(redactor)
        var entry: JSONObject = [
            "startedDateTime": .string(HARDate.format(started)),
            "time": number(wait + receive),
            "request": .object(request),
            "response": .object(responseObject(redactor, shown)),
            "cache": [:],
            "timings": [
                "blocked": -1, "dns": -1, "connect": -1, "send": 0, "wait": number(wait),
                "receive": number(receive), "ssl": -1,
            ],
        ]
        let call = "\(self.request.method) \(redactor.url(self.request.url.absoluteString))"
        let lines =
            withheldOfRequest.map { "\(call), the request: \($0)" }
            + withheld.map { "\(call), the response: \($0)" }
        // If the content was changed, the sizes of its chunks are meaningless.
        let marks = RecordingMarks(
            chunks: shown == received ? marks.chunks : [], isPartial: marks.isPartial,
            withheld: lines)
        entry["_turnpike"] = marks.json
        return (.object(entry), lines)
    }

    // MARK: Request

    private func requestObject(
        _ redactor: CassetteRedactor
    ) -> (object: JSONObject, withheld: [String]) {
        let headers = redactor.headers(request.headers)
        let url = redactor.url(request.url.absoluteString).prefix { $0 != "#" }
        let query = url.firstIndex(of: "?").map { url[url.index(after: $0)...] } ?? ""
        let cookies = headers.values(of: .cookie).flatMap(CookieItem.list).map { item in
            JSONValue.object(["name": .string(item.name), "value": .string(item.value ?? "")])
        }
        var object: JSONObject = [
            "method": .string(request.method.rawValue), "url": .string(String(url)),
            "httpVersion": .string(version), "cookies": .array(cookies),
            "headers": fields(headers), "queryString": named(FormField.parse(query)),
        ]
        let (posted, withheld) = posted(redactor, type: headers.first(.contentType) ?? "")
        if let posted { object["postData"] = .object(posted) }
        object["headersSize"] = -1
        object["bodySize"] = .number(JSONNumber(sent?.count ?? -1))
        return (object, withheld)
    }

    private func posted(
        _ redactor: CassetteRedactor, type: String
    ) -> (object: JSONObject?, withheld: [String]) {
        guard let sent else {
            return (["mimeType": .string(type), "text": "", "_omitted": true], [])
        }
        if sent.isEmpty { return (nil, []) }
        let (shown, withheld) = redactor.content(sent, headers: request.headers)
        guard let text = String(validating: shown, as: UTF8.self) else {
            let object: JSONObject = [
                "mimeType": .string(type), "text": .string(shown.base64EncodedString()),
                "_encoding": "base64",
            ]
            return (object, withheld)
        }
        if MediaType(parsing: type)?.essence == MediaType.form.essence {
            return (["mimeType": .string(type), "params": named(FormField.parse(text))], withheld)
        }
        return (["mimeType": .string(type), "text": .string(text)], withheld)
    }

    // MARK: Response

    private func responseObject(_ redactor: CassetteRedactor, _ shown: Data) -> JSONObject {
        let headers = redactor.headers(head.headers)
        var content: JSONObject = [
            "size": .number(JSONNumber(shown.count)),
            "mimeType": .string(headers.first(.contentType) ?? ""),
        ]
        if let text = String(validating: shown, as: UTF8.self) {
            content["text"] = .string(text)
        } else {
            content["text"] = .string(shown.base64EncodedString())
            content["encoding"] = "base64"
        }
        return [
            "status": .number(JSONNumber(head.status.code)),
            "statusText": .string(head.status.reasonPhrase), "httpVersion": .string(version),
            "cookies": .array(headers.values(of: .setCookie).map(cookie)),
            "headers": fields(headers), "content": .object(content),
            "redirectURL": .string(headers.first(.location) ?? ""), "headersSize": -1,
            "bodySize": .number(JSONNumber(encodedLength ?? Int64(received.count))),
        ]
    }

    private func cookie(_ line: String) -> JSONValue {
        let items = CookieItem.list(line)
        var object: JSONObject = [
            "name": .string(items.first?.name ?? ""), "value": .string(items.first?.value ?? ""),
        ]
        for item in items.dropFirst() {
            let value = item.value ?? ""
            switch item.name.lowercased() {
            case "path": object["path"] = .string(value)
            case "domain": object["domain"] = .string(value)
            case "expires":
                let date = HTTPDate.parse(value, now: started)
                object["expires"] = date.map { .string(HARDate.format($0)) }
            case "httponly": object["httpOnly"] = true
            case "secure": object["secure"] = true
            default: continue
            }
        }
        return .object(object)
    }

    // MARK: Pieces

    private var version: String { head.version.map { "HTTP/" + $0 } ?? "unknown" }

    private func fields(_ headers: HTTPHeaders) -> JSONValue {
        named(headers.map { FormField(name: $0.name.rawValue, value: $0.value) })
    }

    private func named(_ fields: [FormField]) -> JSONValue {
        .array(fields.map { ["name": .string($0.name), "value": .string($0.value)] })
    }

    // Rounded to microseconds, which is precise enough and short.
    private func milliseconds(_ duration: Duration) -> Double {
        (max(duration, .zero) / .microseconds(1)).rounded() / 1000
    }

    private func number(_ value: Double) -> JSONValue {
        JSONNumber(value).map(JSONValue.number) ?? 0
    }
}
