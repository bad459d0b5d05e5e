// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Turnpike
import TurnpikeCurl

/// One run of `scripts/bench against`.
///
/// It uses only interface that all commits have.
///
/// `driver mock|curl bare|ten|standard CALLERS SECONDS|COUNTx URL` prints the number of calls and their
/// CPU time in seconds. With a count instead of a time, there is no warm-up.
@main
struct Driver {
    let client: Client
    let url: URL
    let callers: Int

    // Blocks the main thread. An asynchronous main would end it, and valgrind with it.
    static func main() throws {
        let words = CommandLine.arguments
        guard words.count == 6, let callers = Int(words[3]), let url = URL(string: words[5])
        else { fatalError("the arguments are those of scripts/against") }
        let content = Data(repeating: 0x61, count: 1024)
        let transport: any Transport =
            words[1] == "mock"
            ? MockTransport(recordLimit: 0) { _ in .status(200, body: content) }
            : try CurlTransport(configuration: CurlTransport.Configuration())
        let stack: Stack =
            switch words[2] {
            case "bare": []
            case "ten": Stack(Array(repeating: Pass(), count: 10))
            default: .standard
            }
        let client = Client(transport: transport, stack: stack)
        let driver = Driver(client: client, url: url, callers: callers)
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            do {
                try await driver.run(words[4])
            } catch {
                print("driver: \(error)")
                exit(1)
            }
            done.signal()
        }
        done.wait()
    }

    private func run(_ extent: String) async throws {
        if extent.hasSuffix("x"), let count = Int(extent.dropLast()) {
            print(try await call(until: nil, count: count), 0)
            return
        }
        let seconds = Double(extent) ?? 1
        _ = try await call(until: .now + .milliseconds(300))
        let before = Self.cpuSeconds
        let calls = try await call(until: .now + .seconds(seconds))
        print(calls, Self.cpuSeconds - before)
    }

    /// Calls until a given time, or a given number of times, and returns the number of calls.
    private func call(until end: ContinuousClock.Instant?, count: Int = 0) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<callers {
                group.addTask {
                    var done = 0
                    while end.map({ ContinuousClock.now < $0 }) ?? (done < count) {
                        guard try await client.get(Target(url)).data().count == 1024 else {
                            throw CocoaError(.coderInvalidValue)
                        }
                        done += 1
                    }
                    return done
                }
            }
            return try await group.reduce(0, +)
        }
    }

    private static var cpuSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// A gate of a user that does nothing.
private struct Pass: Interceptor {
    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        try await next(request)
    }
}
