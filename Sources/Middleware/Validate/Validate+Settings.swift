import TurnpikeCore

extension Validate {
    init(settings: Settings) {
        self.init(status: Self.statuses(settings), contentType: Self.contentType(settings))
    }

    private static func statuses(_ settings: Settings) -> StatusSet {
        guard let entries = settings.list("status") else { return .successful }
        return StatusSet(
            entries.enumerated().compactMap { index, entry in
                let codes = 100...999
                if let code = entry.int, codes.contains(code) { return code...code }
                if let low = entry[0]?.int, let high = entry[1]?.int, entry.array?.count == 2,
                    low <= high, codes.contains(low), codes.contains(high)
                {
                    return low...high
                }
                settings.issue(at: "status[\(index)]", "a status, or a pair [from, to], is wanted")
                return nil
            })
    }

    private static func contentType(_ settings: Settings) -> ContentType {
        if settings.isNull("contentType") { return .any }
        guard let value = settings.value("contentType") else { return .accept }
        if value == "accept" { return .accept }
        guard value.array != nil else {
            settings.issue(
                at: "contentType", "\"accept\", a list of media ranges, or null is wanted")
            return .accept
        }
        return .ranges(
            settings.strings("contentType").enumerated().compactMap { index, text in
                if let range = MediaType(parsing: text) { return range }
                settings.issue(
                    at: "contentType[\(index)]", "a media range such as text/* is wanted")
                return nil
            })
    }
}
