// SPDX-License-Identifier: Apache-2.0

package import Foundation
package import TurnpikeCore

extension RequestBody {
    /// The kinds of bodies that ``of(_:_:file:)`` makes.
    package enum Kind: CaseIterable, Sendable {
        case data, file, known, stream, live

        /// Whether its length is known before it is read.
        package var hasLength: Bool { self != .stream && self != .live }
    }

    /// A body of one kind with given content; the content of a file is written to `file`.
    package static func of(_ kind: Kind, _ content: Data, file: URL) throws -> RequestBody {
        switch kind {
        case .data: return .data(content)
        case .file:
            try content.write(to: file)
            return .file(file)
        case .known:
            return .stream(length: Int64(content.count), replayable: true) { Pieces(content) }
        case .stream: return .stream(replayable: true) { Pieces(content) }
        case .live: return .stream(replayable: true, live: true) { Pieces(content) }
        }
    }
}

/// Content in pieces of 50,000 bytes.
package struct Pieces: AsyncSequence, AsyncIteratorProtocol, Sendable {
    private var rest: Data

    package init(_ content: Data) { rest = content }

    package func makeAsyncIterator() -> Self { self }

    package mutating func next() async -> Data? {
        if rest.isEmpty { return nil }
        defer { rest = Data(rest.dropFirst(50_000)) }
        return Data(rest.prefix(50_000))
    }
}

extension AsyncStream where Element: Sendable {
    /// A stream of elements that are there from the beginning.
    package init(_ elements: [Element]) {
        self.init { continuation in
            for element in elements { continuation.yield(element) }
            continuation.finish()
        }
    }
}

/// A body that can be sent once.
package func oneShot(_ text: String) -> RequestBody {
    .stream { AsyncStream([Data(text.utf8)]) }
}

extension MockTransport {
    /// The values of `Authorization` that were sent, in order; a bare request gives "-".
    package var authorizations: [String] { sent.map { $0.request.headers[.authorization] ?? "-" } }
}
