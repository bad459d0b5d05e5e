// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike

/// One call of the storm, sent and perhaps cancelled.
struct StormCall {
    enum End: Hashable {
        case finished
        case dropped
        case deadline
        case cancelled
        case wrong(String)
    }

    struct Result {
        let end: End
        /// From `cancel()` to the return of who waited.
        let cancelTime: Duration?
    }

    let plan: StormPlan
    let call: Call

    func run(_ server: StormServer) async -> Result {
        switch plan.owner {
        case .handle where plan.kind != .dropped && plan.kind != .large: await runHandle(server)
        default: await runTask(server)
        }
    }

    private func runTask(_ server: StormServer) async -> Result {
        let task = Task { await timed { try await receive(server) } }
        return await result(of: task) { task.cancel() }
    }

    private func runHandle(_ server: StormServer) async -> Result {
        let running = call.start(.data)
        let task = Task { await timed { end(of: try await running.value, server) } }
        return await result(of: task) { running.cancel() }
    }

    private typealias Timed = (end: End, at: ContinuousClock.Instant)

    private func result(of task: Task<Timed, Never>, cancel: () -> Void) async -> Result {
        guard let cancelAfter = plan.cancelAfter else {
            return Result(end: await task.value.end, cancelTime: nil)
        }
        try? await Task.sleep(for: .microseconds(cancelAfter), tolerance: .zero)
        let begin = ContinuousClock.now
        cancel()
        let (end, at) = await task.value
        return Result(end: end, cancelTime: end == .cancelled ? at - begin : nil)
    }

    private func timed(_ action: () async throws -> End) async -> Timed {
        let end: End
        do {
            end = try await action()
        } catch is CancellationError {
            end = .cancelled
        } catch ClientError.Code.deadlineExceeded where plan.kind == .held {
            end = .deadline
        } catch {
            end = .wrong("\(error)")
        }
        return (end, .now)
    }

    private func receive(_ server: StormServer) async throws -> End {
        switch plan.kind {
        case .dropped:
            let response = try await call.response()
            for try await _ in response.body { return .dropped }
            return .wrong("the body was empty")
        case .large:
            // A reader slower than the server: the rest waits in memory, then in a file.
            var content = Data()
            for try await chunk in try await call.response().body {
                content += chunk
                if content.count < 262_144 { try await Task.sleep(for: .milliseconds(1)) }
            }
            return end(of: content, server)
        default: return end(of: try await call.data(), server)
        }
    }

    private func end(of content: Data, _ server: StormServer) -> End {
        server.isRight(content, for: plan) ? .finished : .wrong("\(content.count) wrong bytes came")
    }
}
