import Synchronization

/// What the parts of all stacks of one registry have in common: one thing for each key, for as long
/// as the registry is there.
final class CommonState: Sendable {
    private let values = Mutex<[String: any AnyObject & Sendable]>([:])

    func value<State: AnyObject & Sendable>(_ key: String, _ make: () -> State) -> State {
        values.withLock { values in
            if let known = values[key] as? State { return known }
            let new = make()
            values[key] = new
            return new
        }
    }
}
