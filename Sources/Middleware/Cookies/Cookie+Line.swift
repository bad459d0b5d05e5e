// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

/// The form of a cookie in the file of a jar: a line of JSON.
extension Cookie {
    var line: JSONValue {
        var object: JSONObject = [
            "name": .string(name), "value": .string(value), "domain": .string(domain),
            "path": .string(path), "created": .number(JSONNumber(Self.seconds(created))),
        ]
        if isHostOnly { object["hostOnly"] = true }
        if isSecure { object["secure"] = true }
        if isHTTPOnly { object["httpOnly"] = true }
        if let sameSite { object["sameSite"] = .string(sameSite.rawValue) }
        if let expires { object["expires"] = .number(JSONNumber(Self.seconds(expires))) }
        return .object(object)
    }

    init?(line: JSONObject) {
        guard let name = line["name"]?.string, let value = line["value"]?.string,
            let domain = line["domain"]?.string, let path = line["path"]?.string,
            let created = line["created"]?.int, let expires = line["expires"]?.int
        else { return nil }
        do {
            try self.init(
                name: name, value: value, domain: domain,
                isHostOnly: line["hostOnly"]?.bool ?? false, path: path,
                expires: Date(timeIntervalSince1970: Double(expires)),
                isSecure: line["secure"]?.bool ?? false,
                isHTTPOnly: line["httpOnly"]?.bool ?? false,
                sameSite: line["sameSite"]?.string.flatMap(SameSite.init(rawValue:)),
                created: Date(timeIntervalSince1970: Double(created)))
        } catch {
            return nil
        }
    }

    private static func seconds(_ date: Date) -> Int {
        Int(min(max(date.timeIntervalSince1970.rounded(.up), -1e12), 1e12))
    }
}
