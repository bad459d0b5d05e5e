// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeTesting

/// Transports that are shut down, or let go of, while their exchanges are under way.
struct StormShutdown {
    private let server: StormServer
    private let options: StormOptions

    init(server: StormServer, options: StormOptions) {
        self.server = server
        self.options = options
    }

    /// - Returns: What went wrong, or nil.
    func run(waves: Int) async -> String? {
        for wave in 0..<waves {
            if let fault = await shutDown(wave: wave) { return "shutdown \(wave): \(fault)" }
            if wave % 10 == 0, let fault = await letGo() {
                return "a client that was let go of: \(fault)"
            }
        }
        return nil
    }

    // At a redirect URLSession traps when a cancellation comes in the wrong order.
    private func shutDown(wave: Int) async -> String? {
        var random = SeededGenerator(seed: options.seed &* 1_000_003 &+ UInt64(wave))
        let moment = Duration.microseconds(Int.random(in: 0...12_000, using: &random))
        guard let transport = try? options.transport.make() else { return "there is no transport" }
        let client = Client(baseURL: server.server.target, transport: transport, stack: [])
        return await withTaskExecutorPreference(options.transport.executor(of: transport)) {
            await withTaskGroup(of: String?.self) { group in
                for number in 0..<20 {
                    let call = number % 10 == 0 ? client.get("held") : client.get("found")
                    group.addTask { await Self.fault(of: call) }
                }
                try? await Task.sleep(for: moment, tolerance: .zero)
                await transport.shutdown()
                return await group.reduce(nil) { $0 ?? $1 }
            }
        }
    }

    private static func fault(of call: Call) async -> String? {
        do {
            let status = try await call.response().status
            return status == 302 ? nil : "the status is \(status)"
        } catch ClientError.Code.cancelled {
            return nil
        } catch {
            return "\(error)"
        }
    }

    // Nothing holds the client but the call; the response outlives both.
    private func letGo() async -> String? {
        do {
            let target = server.server.target
            let client = Client(
                baseURL: target, transport: try options.transport.make(), stack: [])
            let response = try await client.get("drip").response()
            let count = try await response.body.collect(upTo: 1000).count
            return count == 200 ? nil : "\(count) bytes came"
        } catch {
            return "\(error)"
        }
    }
}
