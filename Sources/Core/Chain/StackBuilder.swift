// SPDX-License-Identifier: Apache-2.0

/// Collects gates, outermost first.
@resultBuilder
public enum StackBuilder {
    /// One gate.
    public static func buildExpression(_ gate: any Gate) -> [any Gate] { [gate] }
    /// The gates of a stack.
    public static func buildExpression(_ stack: Stack) -> [any Gate] { stack.gates }
    /// Gates in order.
    public static func buildBlock(_ parts: [any Gate]...) -> [any Gate] { parts.flatMap(\.self) }
    /// Gates after an `if` without `else`.
    public static func buildOptional(_ part: [any Gate]?) -> [any Gate] { part ?? [] }
    /// Gates of the first branch.
    public static func buildEither(first part: [any Gate]) -> [any Gate] { part }
    /// Gates of the second branch.
    public static func buildEither(second part: [any Gate]) -> [any Gate] { part }
    /// Gates of a loop.
    public static func buildArray(_ parts: [[any Gate]]) -> [any Gate] { parts.flatMap(\.self) }
    /// Gates after an availability check.
    public static func buildLimitedAvailability(_ part: [any Gate]) -> [any Gate] { part }
}
