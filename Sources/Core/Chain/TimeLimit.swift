import Foundation
import Synchronization

/// What a time limit covers.
package enum TimeLimitExtent: Sendable {
    /// Up to the head of the response.
    case head
    /// Up to the end of the body.
    case body
}

extension Next {
    /// Runs the rest of the chain under a time limit.
    ///
    /// The rest runs in one child task. When time is up, the caller gets the error at once; the
    /// context's cancellation ends sends, waits and bodies inside, and the task's cancellation ends
    /// what a user's gate awaits. Nothing is sent after that.
    package func callAsFunction(
        _ request: Request, within limit: Duration, upTo extent: TimeLimitExtent,
        orThrow error: @escaping @Sendable () -> ClientError
    ) async throws -> Response {
        let timeSource = context.timeSource
        let deadline = extent == .body ? timeSource.now.advanced(by: limit) : nil
        let inner = context.child(deadline: deadline)
        let answer = OneShot<Response>()
        let timer = timeSource.schedule(after: limit) { inner.cancel(.failed(error())) }
        // Ended by the limit, by whoever cancels a context outside, or by the caller's task, all
        // through `inner`; else it ends by itself.
        let task = Task.inheriting { [self] in
            do {
                let response = try await self(request, context: inner)
                if !answer.settle(.success(response)) { response.body.cancel(.drop) }
            } catch {
                answer.settle(.failure(error))
            }
        }
        let registration = inner.onCancel { reason in
            answer.settle(.failure(reason.error))
            task.cancel()
        }
        do {
            let response = try await answer.value { inner.cancel(.task) }
            switch extent {
            case .head:
                timer.cancel()
                registration.end()
            case .body: response.body.keepLimit(timer, registration, of: inner)
            }
            return response
        } catch {
            timer.cancel()
            registration.end()
            // The limit that fired inside wins over what it made others throw.
            if error is CancellationError, !Task.isCancelled, let reason = inner.cancelReason {
                throw reason.error
            }
            throw error
        }
    }
}

extension ResponseBody {
    /// Lets a cancellation of the context end the body, and the body's end end the limit.
    fileprivate func keepLimit(
        _ timer: any TimerToken, _ registration: CancelRegistration, of context: Context
    ) {
        registration.end()
        let canceller = canceller
        let bodyRegistration = context.onCancel { canceller.cancel($0) }
        onEnd { _ in
            timer.cancel()
            bodyRegistration.end()
        }
    }
}
