// SPDX-License-Identifier: Apache-2.0

/// How a head reaches the task that waits for it.
enum ArrivedHead: Sendable {
    case read(Exchange.Head)
    case unread(any UnreadHead)

    func get() throws -> Exchange.Head {
        switch self {
        case .read(let head): head
        case .unread(let head): try head.read()
        }
    }
}
