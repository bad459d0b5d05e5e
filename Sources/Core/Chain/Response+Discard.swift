// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

extension Response {
    /// Returns a shared response for a call; a cancellation of the call ends the body.
    public func adopted(by context: Context) -> Response {
        var response = self
        response.history = context.call.record
        response.exchange = nil
        let canceller = body.canceller
        let registration = context.onCancel { canceller.cancel($0) }
        body.onEnd { _ in registration.end() }
        return response
    }

    /// Discards a response, and frees the connection for other requests.
    ///
    /// The method reads at most 64 KiB of the body for at most 100 ms. If the body is still
    /// incomplete, the method cancels the transfer. A gate must call this method for each response
    /// of `next` that the gate does not return.
    /// - Parameters:
    ///   - context: The context of the gate.
    ///   - maxBytes: The maximum number of bytes of the body to keep.
    /// - Returns: `kept` contains the first bytes of the body. `isCut` is true if the body has more
    ///   bytes. `isEndless` is true if a body of undeclared length exceeded the limit.
    @discardableResult
    public func discard(
        in context: Context, keeping maxBytes: Int = 0
    ) async -> (kept: Data, isCut: Bool, isEndless: Bool) {
        if body.storage.hasEnded { return (Data(), false, false) }
        if let length = body.length, length > Self.drainLimit, maxBytes == 0 {
            body.cancel(.drop)
            return (Data(), true, false)
        }
        let limit = max(Self.drainLimit, maxBytes)
        let canceller = body.canceller
        // A cancellation of this context must also end a body that belongs to another context. The
        // handler is registered before the timer, as in `Context.sleep(for:)`.
        let registration = context.onCancel { canceller.cancel($0) }
        let timer = context.timeSource.schedule(after: Self.drainTime) { canceller.cancel(.drop) }
        defer {
            timer.cancel()
            registration.end()
            body.cancel(.drop)
        }
        var kept = Data()
        var count = 0
        var isCut = true
        do {
            var chunks = body.makeAsyncIterator()
            while count < limit {
                guard let chunk = try await chunks.next() else {
                    isCut = count > kept.count
                    break
                }
                count += chunk.count
                if kept.count < maxBytes { kept.append(chunk.prefix(maxBytes - kept.count)) }
            }
        } catch {
            // A failure of a discarded body does not matter.
        }
        if body.length == Int64(kept.count) { isCut = false }
        let isUndeclared = body.length == nil && body.encodedLength == nil
        return (kept, isCut, isUndeclared && count >= Self.drainLimit)
    }

    private static var drainLimit: Int { 65_536 }
    private static var drainTime: Duration { .milliseconds(100) }
}
