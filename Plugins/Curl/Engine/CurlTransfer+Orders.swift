// SPDX-License-Identifier: Apache-2.0

extension CurlTransfer {
    /// What an engine is asked to do for a transfer; several are one post.
    struct Orders: OptionSet {
        let rawValue: UInt8
        static let start = Orders(rawValue: 1)
        static let cancel = Orders(rawValue: 2)
        static let receive = Orders(rawValue: 4)
        static let send = Orders(rawValue: 8)
        // Until it starts nothing is posted: it may be cancelled before it has its exchange.
        static let unstarted = Orders(rawValue: 128)
    }
}
