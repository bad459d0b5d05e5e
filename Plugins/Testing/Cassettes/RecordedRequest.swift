// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

struct RecordedRequest: Sendable {
    enum Content: Hashable, Sendable {
        /// The recording does not contain the content.
        case unknown
        case json(JSONValue)
        case form([FormField])
        case bytes(Data)
    }

    let method: HTTPMethod
    let url: String
    let origin: String
    let path: String
    let query: [FormField]
    let headers: HTTPHeaders
    let content: Content

    /// Normalises redacted parts of a request, whose content may be unknown (nil).
    init?(
        method: HTTPMethod, url: String, headers: HTTPHeaders, content: Data?,
        matching: CassetteMatching
    ) {
        let bare = url.prefix { $0 != "#" }
        guard let parsed = URL(string: String(bare)) else { return nil }
        self.method = method
        self.url = String(bare)
        self.headers = headers
        let target = TargetURI(parsed)
        origin = target.origin?.description ?? ""
        let form = target.originForm
        path = String(form.prefix { $0 != "?" })
        query =
            FormField.parse(form.dropFirst(path.count + 1))
            .filter { !matching.ignoring.contains($0.name) }.sortedByName
        let type = headers.first(.contentType).flatMap(MediaType.init(parsing:))
        self.content = Self.content(content, type, matching)
    }

    var summary: String { "\(method) \(url)" }

    private static func content(
        _ data: Data?, _ type: MediaType?, _ matching: CassetteMatching
    ) -> Content {
        guard let data else { return .unknown }
        if data.isEmpty { return .bytes(data) }
        if type?.essence == MediaType.form.essence {
            let fields = FormField.parse(String(decoding: data, as: UTF8.self))
            return .form(fields.filter { !matching.ignoring.contains($0.name) }.sortedByName)
        }
        if let first = data.first(where: { $0 > 0x20 }), first == 0x7B || first == 0x5B,
            let json = try? JSONValue(parsing: data)
        {
            return .json(without(matching.ignoring, in: json))
        }
        // Each send of a multipart body has a different boundary.
        if type?.type == "multipart", let boundary = type?[parameter: "boundary"] {
            return .bytes(data.substituting(Data(boundary.utf8), with: Data("boundary".utf8)))
        }
        return .bytes(data)
    }

    private static func without(_ names: Set<String>, in value: JSONValue) -> JSONValue {
        if names.isEmpty { return value }
        switch value {
        case .array(let elements): return .array(elements.map { without(names, in: $0) })
        case .object(let object):
            let kept = object.filter { !names.contains($0.name) }
            return .object(JSONObject(kept.map { ($0.name, without(names, in: $0.value)) }))
        default: return value
        }
    }
}

extension RecordedRequest {
    func matches(_ recorded: RecordedRequest, by matching: CassetteMatching) -> Bool {
        method == recorded.method && path == recorded.path && query == recorded.query
            && (!matching.origin || origin == recorded.origin)
            && matching.headers.allSatisfy { hasSameValues(of: $0, as: recorded) }
            && (!matching.content || sameContent(recorded))
    }

    private func hasSameValues(of name: HTTPHeaders.Name, as recorded: RecordedRequest) -> Bool {
        headers.values(of: name).elementsEqual(recorded.headers.values(of: name)) {
            Grammar.areSame($0, $1)
        }
    }

    private func sameContent(_ recorded: RecordedRequest) -> Bool {
        content == recorded.content || content == .unknown || recorded.content == .unknown
    }

    func mismatches(
        from recorded: RecordedRequest, by matching: CassetteMatching
    ) -> (texts: [String], weight: Int) {
        var texts: [String] = []
        var weight = 0
        func add(_ text: String?, _ share: Int) {
            guard let text else { return }
            texts.append(text)
            weight += share
        }
        if method != recorded.method {
            add("the method is \(method), not \(recorded.method)", 8)
        }
        if matching.origin, origin != recorded.origin {
            add("the origin is \(origin), not \(recorded.origin)", 4)
        }
        if path != recorded.path { add("the path is \(path), not \(recorded.path)", 8) }
        for text in Self.differences(query, recorded.query, in: "the query") { add(text, 2) }
        for name in matching.headers
        where !hasSameValues(of: name, as: recorded) {
            add(
                "the header \(name) is \(shown(headers, name)), not \(shown(recorded.headers, name))",
                1)
        }
        if matching.content, !sameContent(recorded) { add(contentMismatch(recorded), 1) }
        return (texts, weight)
    }

    private func shown(_ headers: HTTPHeaders, _ name: HTTPHeaders.Name) -> String {
        headers[name].map { "“\(Grammar.escaped($0))”" } ?? "missing"
    }

    private static func differences(
        _ found: [FormField], _ wanted: [FormField], in place: String
    ) -> [String] {
        let foundValues = Dictionary(grouping: found, by: \.name).mapValues { $0.map(\.value) }
        let wantedValues = Dictionary(grouping: wanted, by: \.name).mapValues { $0.map(\.value) }
        return Set(foundValues.keys).union(wantedValues.keys).sorted().compactMap { name in
            let shown = Grammar.escaped(name)
            switch (foundValues[name], wantedValues[name]) {
            case (nil, _): return "\(place) has no \(shown)"
            case (_, nil): return "\(place) has \(shown), which is unexpected"
            case (let found?, let wanted?):
                if found == wanted { return nil }
                let texts = [found, wanted].map { Grammar.escaped($0.joined(separator: ", ")) }
                return "\(place)'s \(shown) is “\(texts[0])”, not “\(texts[1])”"
            }
        }
    }

    private func contentMismatch(_ recorded: RecordedRequest) -> String? {
        let stand = Request(.get, URL(filePath: "/"))
        switch (content, recorded.content) {
        case (.form(let found), .form(let wanted)):
            return Self.differences(found, wanted, in: "the form").joined(separator: ", and ")
        case (.json(let found), .json(let wanted)):
            return RequestMatcher.json(wanted).mismatch(stand, body: found.data())
        case (.bytes(let found), .bytes(let wanted)):
            return RequestMatcher.body(wanted).mismatch(stand, body: found)
        default: return "the content is \(content.name), not \(recorded.content.name)"
        }
    }
}

extension RecordedRequest.Content {
    fileprivate var name: String {
        switch self {
        case .unknown: "unknown"
        case .json: "JSON"
        case .form: "a form"
        case .bytes(let data): data.isEmpty ? "empty" : "\(data.count) bytes"
        }
    }
}

extension [FormField] {
    // The fields, sorted by name. Fields with equal names keep their order.
    fileprivate var sortedByName: [FormField] {
        enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }
            .map(\.element)
    }
}

extension Data {
    fileprivate func substituting(_ bytes: Data, with other: Data) -> Data {
        var result = Data()
        var rest = self[...]
        while let place = rest.firstPlace(of: bytes) {
            result += rest[..<place] + other
            rest = rest[(place + bytes.count)...]
        }
        return result + rest
    }
}
