// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeCore
import TurnpikeDownloads
import TurnpikeSupport

/// Records the parts of an exchange as they arrive, for results with an error too.
final class ExecObservation: Sendable {
    private struct State {
        var head: ResponseHead?
        // The response without the body; a result has the redirects and attempts of this response.
        var response: Response?
        var headElapsed: Duration?
        var bytes = 0
        var beginning = Data()
        var hash = SHA256()
        var items: [JSONValue]?
        var file: DownloadedFile?
        var trailers: HTTPHeaders = [:]
    }

    /// Content up to this number of bytes is reported in full.
    static let shownBytes = 65_536

    private let start = ContinuousClock.now
    private let state = Mutex(State())

    var elapsed: Duration { ContinuousClock.now - start }

    /// Records a response, and its content while the content is read.
    func see(_ response: Response) {
        var told = response
        told.body = .empty
        state.withLock { [told] state in
            state.head = response.head
            state.response = told
            state.headElapsed = elapsed
            state.bytes = 0
            state.beginning = Data()
            state.hash = SHA256()
            state.trailers = [:]
        }
        let body = response.body.canceller
        response.body.onEnd { [self] end in
            if end.isFinished { state.withLock { $0.trailers = body.trailers } }
        }
        response.body.onChunk { [self] chunk in
            state.withLock { state in
                state.bytes += chunk.count
                state.hash.update(chunk)
                if state.beginning.count < Self.shownBytes + 1 {
                    state.beginning.append(
                        chunk.prefix(Self.shownBytes + 1 - state.beginning.count))
                }
            }
        }
    }

    var hasSeen: Bool { state.withLock { $0.head != nil } }

    func wrote(_ file: DownloadedFile) { state.withLock { $0.file = file } }

    func begin() { state.withLock { $0.items = [] } }

    func add(_ item: JSONValue) -> Int {
        state.withLock { state in
            state.items?.append(item)
            return state.items?.count ?? 0
        }
    }

    var items: [JSONValue] { state.withLock { $0.items ?? [] } }

    func members(of error: (any Error)?) -> [(String, JSONValue)] {
        let state = state.withLock { $0 }
        let failure = error as? ClientError
        var members: [(String, JSONValue)] = []
        if let head = failure?.response ?? state.head {
            members += [
                ("status", .number(JSONNumber(head.status.code))),
                ("reason", .string(head.status.reasonPhrase)),
                ("url", .string(head.url.absoluteString)),
                ("headers", Self.lines(head.headers)),
                ("version", head.version.map { .string($0) } ?? .null),
            ]
        }
        if let hops = state.response?.hops {
            members.append(
                (
                    "hops",
                    .array(
                        hops.map {
                            [
                                "status": .number(JSONNumber($0.status.code)),
                                "url": .string($0.url.absoluteString),
                            ]
                        })
                ))
        }
        if state.head != nil {
            var body = JSONObject()
            body["bytes"] = .number(JSONNumber(state.bytes))
            body["sha256"] = .string(state.hash.finalize().hexadecimal)
            if state.bytes <= Self.shownBytes {
                body["base64"] = .string(state.beginning.base64EncodedString())
            }
            members.append(("body", .object(body)))
        }
        if !state.trailers.isEmpty { members.append(("trailers", Self.lines(state.trailers))) }
        if let file = state.file {
            members.append(("file", .string(file.url.path(percentEncoded: false))))
            members.append(("suggested", .string(file.suggestedName)))
        }
        if error != nil, let items = state.items { members.append(("value", .array(items))) }
        members.append(
            ("attempts", .number(JSONNumber(failure?.attempts ?? state.response?.attempts ?? 0))))
        members.append(("elapsed", Self.seconds(elapsed)))
        if let headElapsed = state.headElapsed {
            members.append(("headElapsed", Self.seconds(headElapsed)))
        }
        return members
    }

    private static func lines(_ section: HTTPHeaders) -> JSONValue {
        .array(section.map { [.string($0.name.rawValue), .string($0.value)] })
    }

    private static func seconds(_ duration: Duration) -> JSONValue {
        JSONNumber((duration / .microseconds(1)).rounded() / 1e6).map(JSONValue.number) ?? .null
    }
}
