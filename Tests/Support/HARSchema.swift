// SPDX-License-Identifier: Apache-2.0

import Foundation

package import TurnpikeCore

/// The members that HAR 1.2 asks for, and their types; what begins with `_` is free, all else must
/// be known.
package struct HARSchema {
    indirect enum Kind: Sendable {
        case text
        case date
        case number
        /// A number that is 0 or more, or -1 for what does not apply.
        case optionalNumber
        case bool
        case list(Kind)
        case object(required: [String: Kind], optional: [String: Kind])
    }

    private static let record = Kind.object(
        required: ["name": .text, "value": .text], optional: ["comment": .text])

    private static let cookie = Kind.object(
        required: ["name": .text, "value": .text],
        optional: [
            "path": .text, "domain": .text, "expires": .date, "httpOnly": .bool, "secure": .bool,
            "comment": .text,
        ])

    private static let postData = Kind.object(
        required: ["mimeType": .text],
        optional: [
            "text": .text, "comment": .text,
            "params": .list(
                .object(
                    required: ["name": .text],
                    optional: [
                        "value": .text, "fileName": .text, "contentType": .text, "comment": .text,
                    ])),
        ])

    private static let request = Kind.object(
        required: [
            "method": .text, "url": .text, "httpVersion": .text, "cookies": .list(cookie),
            "headers": .list(record), "queryString": .list(record), "headersSize": .optionalNumber,
            "bodySize": .optionalNumber,
        ],
        optional: ["postData": postData, "comment": .text])

    private static let content = Kind.object(
        required: ["size": .number, "mimeType": .text],
        optional: ["compression": .number, "text": .text, "encoding": .text, "comment": .text])

    private static let response = Kind.object(
        required: [
            "status": .number, "statusText": .text, "httpVersion": .text, "cookies": .list(cookie),
            "headers": .list(record), "content": content, "redirectURL": .text,
            "headersSize": .optionalNumber, "bodySize": .optionalNumber,
        ],
        optional: ["comment": .text])

    private static let cacheState = Kind.object(
        required: ["lastAccess": .text, "eTag": .text, "hitCount": .number],
        optional: ["expires": .text, "comment": .text])

    private static let entry = Kind.object(
        required: [
            "startedDateTime": .date, "time": .number, "request": request, "response": response,
            "cache": .object(
                required: [:],
                optional: [
                    "beforeRequest": cacheState, "afterRequest": cacheState, "comment": .text,
                ]),
            "timings": .object(
                required: ["send": .number, "wait": .number, "receive": .number],
                optional: [
                    "blocked": .optionalNumber, "dns": .optionalNumber, "connect": .optionalNumber,
                    "ssl": .optionalNumber, "comment": .text,
                ]),
        ],
        optional: [
            "pageref": .text, "serverIPAddress": .text, "connection": .text, "comment": .text,
        ])

    private static let tool = Kind.object(
        required: ["name": .text, "version": .text], optional: ["comment": .text])

    private static let page = Kind.object(
        required: [
            "startedDateTime": .date, "id": .text, "title": .text,
            "pageTimings": .object(
                required: [:],
                optional: [
                    "onContentLoad": .optionalNumber, "onLoad": .optionalNumber, "comment": .text,
                ]),
        ],
        optional: ["comment": .text])

    private static let root = Kind.object(
        required: [
            "log": .object(
                required: ["version": .text, "creator": tool, "entries": .list(entry)],
                optional: ["browser": tool, "pages": .list(page), "comment": .text])
        ],
        optional: [:])

    /// All that a file breaks, each with its place.
    package static func faults(of file: JSONValue) -> [String] {
        var faults = check(file, root, "$")
        for (index, entry) in (file["log"]?["entries"]?.array ?? []).enumerated() {
            faults += rules(of: entry).map { "$.log.entries[\(index)]: \($0)" }
        }
        return faults
    }

    // What the specification says in words.
    private static func rules(of entry: JSONValue) -> [String] {
        var faults: [String] = []
        let timings = entry["timings"]?.object ?? [:]
        let sum = timings.filter { $0.name != "ssl" && !$0.name.hasPrefix("_") }.compactMap(
            \.value.double
        ).filter { $0 > 0 }
            .reduce(0, +)
        if abs(sum - (entry["time"]?.double ?? -1)) > 0.01 { faults.append("time is not the sum") }
        if let posted = entry["request"]?["postData"],
            (posted["text"] == nil) == (posted["params"] == nil)
        {
            faults.append("postData has not just one of text and params")
        }
        let content = entry["response"]?["content"]
        guard let text = content?["text"]?.string else { return faults }
        let bytes =
            content?["encoding"] == "base64" ? Data(base64Encoded: text)?.count : text.utf8.count
        if bytes != content?["size"]?.int { faults.append("size is not that of the text") }
        return faults
    }

    private static func check(_ value: JSONValue, _ kind: Kind, _ path: String) -> [String] {
        switch kind {
        case .text: return value.string == nil ? ["\(path) is not a string"] : []
        case .bool: return value.bool == nil ? ["\(path) is not a Boolean"] : []
        case .number: return (value.double ?? -1) < 0 ? ["\(path) is no number from 0"] : []
        case .optionalNumber:
            let number = value.double ?? -2
            return number >= 0 || number == -1 ? [] : ["\(path) is no number from 0, or -1"]
        case .date:
            // The pattern of the published schema.
            let pattern =
                /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/
            return value.string?.wholeMatch(of: pattern) == nil ? ["\(path) is no date"] : []
        case .list(let element):
            guard let elements = value.array else { return ["\(path) is no list"] }
            return elements.enumerated().flatMap { check($1, element, "\(path)[\($0)]") }
        case .object(let required, let optional):
            guard let object = value.object else { return ["\(path) is no object"] }
            var faults = required.keys.sorted().filter { object[$0] == nil }.map {
                "\(path).\($0) is missing"
            }
            for member in object where !member.name.hasPrefix("_") {
                guard let kind = required[member.name] ?? optional[member.name] else {
                    faults.append("\(path).\(member.name) is not known")
                    continue
                }
                faults += check(member.value, kind, "\(path).\(member.name)")
            }
            return faults
        }
    }
}
