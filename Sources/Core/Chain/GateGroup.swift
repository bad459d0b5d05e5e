/// Several gates that stand in a stack as one: for all requests, or for some.
///
/// The plan puts them in a row with the gates around them and passes over them as a whole where
/// they do not apply, so that a group costs a call one question and no allocation. Position keeps
/// its meaning: a retry inside a group is a retry around all that follows the group, too.
///
/// ```swift
/// struct Weekdays: GateGroup {
///     let gates: [any Gate]
///     func applies(to request: Request, context: Context) -> Bool { isWeekday(context.timeSource.date) }
/// }
/// ```
///
/// The group's requirements and its shutdown are those of its gates. Its options are none unless it
/// says so: a wish of a call (``RequestOptions``) that only a gate in a group would read is honoured
/// by a gate around the stack as well, since the group may not apply.
public protocol GateGroup: Gate {
    /// The gates, outermost first.
    var gates: [any Gate] { get }

    /// Whether a request passes the gates; asked each time that one arrives: for each attempt below
    /// a retry, for each hop below a redirect.
    func applies(to request: Request, context: Context) -> Bool
}

extension GateGroup {
    /// Always.
    public func applies(to request: Request, context: Context) -> Bool { true }

    /// Ends what the gates do beyond single calls.
    public func shutdown() async {
        for gate in gates { await gate.shutdown() }
    }
}

extension Gate {
    /// The gate, and where it is a group, all that it holds, in order.
    package var flattened: [any Gate] {
        guard let group = self as? any GateGroup else { return [self] }
        return [self] + group.gates.flatMap(\.flattened)
    }
}
