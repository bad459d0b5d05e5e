/// What the latest look-ups have seen of the removals by other processes.
///
/// A miss is looked up before its request is sent, and stored when the response has come: what the
/// first has read is of use to the second, and what was removed in between is not stored. What was
/// overwritten meanwhile is to be read anew.
struct RecentLooks {
    private static let places = 256
    private var looks = [(mark: UInt64, removals: UInt64?)](
        repeating: (mark: 0, removals: nil), count: places)

    private static func place(_ mark: UInt64) -> Int { Int(mark % UInt64(places)) }

    mutating func note(_ mark: UInt64, _ removals: UInt64) {
        looks[Self.place(mark)] = (mark: mark, removals: removals)
    }

    /// Takes out the count of removals that was noted for a mark; nil if there is none, or none any more.
    mutating func take(_ mark: UInt64) -> UInt64? {
        let place = Self.place(mark)
        guard looks[place].mark == mark else { return nil }
        defer { looks[place].removals = nil }
        return looks[place].removals
    }
}
