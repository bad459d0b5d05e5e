import Foundation
import Turnpike
import TurnpikeCore

/// What a line of `exec` makes of its response.
struct ExecReading: Sendable {
    /// How the content becomes a value.
    enum Kind: String, CaseIterable, Sendable {
        case data, string, json, propertyList, auto, lines, jsonLines, events, none
    }

    let kind: Kind
    let reconnects: Int
    let lastEventID: String
    let maxItems: Int?

    init(_ settings: Settings) {
        kind = settings.choice("serialize", default: .data)
        maxItems = settings.optionalInt("maxItems", in: 0...Int.max)
        let events = settings.object("events")
        reconnects = events?.int("reconnects", default: 0, in: 0...1_000_000) ?? 0
        lastEventID = events?.string("lastEventID") ?? ""
        events?.finish()
        if settings.value("download") != nil { settings.issue(at: "download", "not available") }
    }
}
