import TurnpikeCore

extension CurlEngine {
    static var isShutDown: ClientError {
        ClientError(.cancelled, "the transport was shut down; make a new client")
    }

    /// As many transfers are passed on in one turn.
    static let flushLimit = 1024
    /// With more transfers the thread hardly sleeps, and who takes a turn makes it wait: with 64 at
    /// once to a server on the same machine that costs a third of the CPU.
    static let quietLoad = 4
    /// As often a caller looks for its own answer, which may come in pieces, before it leaves it to
    /// the thread: nobody reads while it looks.
    static let lookLimit = 8
    /// In milliseconds.
    static let shortSleep: Int64 = 1000

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
