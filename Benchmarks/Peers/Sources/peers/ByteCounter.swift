// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Downloads with URLSession alone, one at a time, and counts the bytes without storing them.
final class ByteCounter: NSObject, URLSessionDataDelegate {
    private typealias Waiter = CheckedContinuation<Int, any Error>

    private let configuration: URLSessionConfiguration
    private let state = Mutex((count: 0, waiter: Waiter?.none))
    private let session = Mutex<URLSession?>(nil)

    init(_ configuration: URLSessionConfiguration) { self.configuration = configuration }

    func count(_ url: URL) async throws -> Int {
        let session = session.withLock { session in
            let made =
                session
                ?? URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
            session = made
            return made
        }
        return try await withCheckedThrowingContinuation { waiter in
            state.withLock { $0 = (0, waiter) }
            session.dataTask(with: url).resume()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        state.withLock { $0.count += data.count }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
        let (count, waiter) = state.withLock { state in
            defer { state.waiter = nil }
            return state
        }
        if let error { waiter?.resume(throwing: error) } else { waiter?.resume(returning: count) }
    }
}
