// SPDX-License-Identifier: Apache-2.0

/// A type whose mirror contains only the description, because `dump` must print no hidden secret.
public protocol DescriptionReflectable: CustomStringConvertible, CustomReflectable {}

extension DescriptionReflectable {
    /// Shows `debugDescription`, or `description` if the type has no `debugDescription`.
    public var customMirror: Mirror {
        Mirror(self, children: ["description": String(reflecting: self)])
    }
}
