// SPDX-License-Identifier: Apache-2.0

/// A type whose mirror shows its description alone.
///
/// So `dump` and a debugger print no secret that the description hides.
public protocol DescriptionReflectable: CustomStringConvertible, CustomReflectable {}

extension DescriptionReflectable {
    /// Shows `debugDescription`, or `description` if the type has only that.
    public var customMirror: Mirror {
        Mirror(self, children: ["description": String(reflecting: self)])
    }
}
