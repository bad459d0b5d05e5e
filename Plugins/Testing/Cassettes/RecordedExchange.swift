// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeInspection
import TurnpikeSupport

struct RecordedExchange {
    let request: Request
    /// The sent content, or nil if unknown.
    let sent: Data?
    let head: ResponseHead
    let received: Data
    let marks: RecordingMarks
    let encodedLength: Int64?
    let started: Date
    let wait: Duration
    let receive: Duration

    /// Returns the redacted entry, and descriptions of withheld contents.
    func entry(redactor: ExchangeRedactor) -> (json: JSONValue, withheld: [String]) {
        redactor.learn(request, content: sent)
        redactor.learn(head.headers, content: received)
        let wait = HARFormat.milliseconds(wait)
        let receive = HARFormat.milliseconds(receive)
        let (shown, withheld) = redactor.content(
            received, headers: head.headers, isCut: marks.isPartial)
        let (request, withheldOfRequest) = requestObject(redactor)
        var entry: JSONObject = [
            "startedDateTime": .string(HARFormat.date(started)),
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
        // The sizes of chunks are meaningless for changed content.
        let marks = RecordingMarks(
            chunks: shown == received ? marks.chunks : [], isPartial: marks.isPartial,
            withheld: lines)
        entry["_turnpike"] = marks.json
        return (.object(entry), lines)
    }

    // MARK: Request

    private func requestObject(
        _ redactor: ExchangeRedactor
    ) -> (object: JSONObject, withheld: [String]) {
        let (posted, withheld) = posted(
            redactor, type: redactor.headers(request.headers).first(.contentType) ?? "")
        let object = HARFormat.request(
            request.method, url: redactor.url(request.url.absoluteString), version: head.version,
            headers: redactor.headers(request.headers), posted: posted,
            bodySize: sent.map { Int64($0.count) })
        return (object, withheld)
    }

    private func posted(
        _ redactor: ExchangeRedactor, type: String
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
            return (
                ["mimeType": .string(type), "params": HARFormat.list(FormField.parse(text))],
                withheld
            )
        }
        return (["mimeType": .string(type), "text": .string(text)], withheld)
    }

    // MARK: Response

    private func responseObject(_ redactor: ExchangeRedactor, _ shown: Data) -> JSONObject {
        var content: JSONObject = ["size": .number(JSONNumber(shown.count))]
        if let text = String(validating: shown, as: UTF8.self) {
            content["text"] = .string(text)
        } else {
            content["text"] = .string(shown.base64EncodedString())
            content["encoding"] = "base64"
        }
        return HARFormat.response(
            head.status, version: head.version, headers: redactor.headers(head.headers),
            content: content, bodySize: encodedLength ?? Int64(received.count), now: started)
    }

    // MARK: Pieces

    private func number(_ value: Double) -> JSONValue {
        JSONNumber(value).map(JSONValue.number) ?? 0
    }
}
