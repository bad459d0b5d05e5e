extension CurlEngine {
    /// How an engine is to end.
    enum Ending {
        case none
        // When its last transfer has ended.
        case drain
        case now
    }

    /// What callers have posted.
    struct Mail {
        var transfers: [CurlTransfer] = []
        var ending = Ending.none
        // Something was posted since the last turn.
        var isNew = false
        var isOver = false
    }
}
