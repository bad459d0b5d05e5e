// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

extension Response {
    /// Returns a shared response as the response of a call; the call's cancellation ends the body.
    public func adopted(by context: Context) -> Response {
        var response = self
        response.history = context.call.record
        response.exchange = nil
        let canceller = body.canceller
        let registration = context.onCancel { canceller.cancel($0) }
        body.onEnd { _ in registration.end() }
        return response
    }

    /// Discards a response so that its connection can be reused.
    ///
    /// Reads at most 64 KiB of the body for at most 100 ms. If the body is still incomplete, the
    /// transfer is ended. If a gate does not return a response of `next`, it must call this method.
    /// - Parameters:
    ///   - context: The gate's context.
    ///   - maxBytes: How many bytes of the body to keep.
    /// - Returns: `kept` are the first bytes of the body. `isCut` states whether the body has more
    ///   bytes. `isEndless` states whether a body of undeclared length exceeded the limit.
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
        // The body may belong to another context. The handler is registered before the timer, as in
        // `Context.sleep(for:)`.
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
