public import Foundation

extension Response {
    /// Gives up a response, so that its connection can serve the next request.
    ///
    /// The body is read for up to 64 KiB and 100 ms, and the transfer ended where that is not all.
    /// Every gate that does not return a response which it got from `next` calls this.
    /// - Parameters:
    ///   - context: The gate's context.
    ///   - maxBytes: How many bytes of the body to keep.
    /// - Returns: The first bytes of the body.
    @discardableResult
    public func discard(in context: Context, keeping maxBytes: Int = 0) async -> Data {
        await drain(in: context, keeping: maxBytes).kept
    }

    /// Gives up a response as ``discard(in:keeping:)`` does.
    /// - Returns: The first bytes of the body, and whether it went on beyond what is read without
    ///   ever having said how long it is.
    @discardableResult
    package func drain(
        in context: Context, keeping maxBytes: Int = 0
    ) async -> (kept: Data, isEndless: Bool) {
        if body.storage.hasEnded { return (Data(), false) }
        if let length = body.length, length > Self.drainLimit, maxBytes == 0 {
            body.cancel(.drop)
            return (Data(), false)
        }
        let canceller = body.canceller
        // A body need not be one of the context's. In this order, as in `Context.sleep(for:)`.
        let registration = context.onCancel { canceller.cancel($0) }
        let timer = context.timeSource.schedule(after: Self.drainTime) { canceller.cancel(.drop) }
        defer {
            timer.cancel()
            registration.end()
            body.cancel(.drop)
        }
        var kept = Data()
        var count = 0
        do {
            for try await chunk in body {
                count += chunk.count
                if kept.count < maxBytes { kept.append(chunk.prefix(maxBytes - kept.count)) }
                if count >= Self.drainLimit { break }
            }
        } catch {
            // What breaks while it is thrown away concerns nobody.
        }
        let isUndeclared = body.length == nil && body.encodedLength == nil
        return (kept, isUndeclared && count >= Self.drainLimit)
    }

    private static var drainLimit: Int { 65_536 }
    private static var drainTime: Duration { .milliseconds(100) }
}
