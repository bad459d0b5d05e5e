// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeMiddleware
import TurnpikeSupport

struct SharedCooldowns: CooldownSharing {
    private let access: SharedAccess

    init(_ access: SharedAccess) { self.access = access }

    var effect: GateEffect { access.use(.counts) }

    func tell(of duration: Duration, for key: QuotaKey, gate: String, in context: Context) {
        let text = key.text(in: access.group)
        access.tell(
            "a cool-down", by: context.timeSource, tell: { context.report($0, by: gate) }
        ) { store in
            try await store.coolDown(for: duration, text)
        }
    }

    func timeLeft(of key: QuotaKey, gate: String, in context: Context) async -> Duration? {
        let text = key.text(in: access.group)
        return await context.report(waitingFor: "shared state") { _ in
            try? await access.ask(
                "a cool-down", by: context.timeSource, tell: { context.report($0, by: gate) }
            ) { store in
                try await store.cooldown(of: text)
            }
        } ?? nil
    }
}

extension Cooldowns {
    /// Creates cool-downs for all replicas.
    /// - Parameters:
    ///   - shared: The state of the replicas.
    ///   - longest: The longest cool-down. Longer cool-downs of servers are shortened.
    ///   - key: The account or tenant of a request. A cool-down belongs to the origin and this key
    ///     (``/TurnpikeMiddleware/Cooldowns/init(sharing:longest:key:)``).
    public convenience init(
        shared: SharedState, longest: Duration = .seconds(300),
        key: (@Sendable (Request) -> String?)? = nil
    ) {
        self.init(sharing: SharedCooldowns(shared.access), longest: longest, key: key)
    }
}

extension QuotaKey {
    func text(in group: String) -> String { "\(group)|\(text)" }
}
