// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

extension Settings {
    /// Returns the meter that a key names as `meter:NAME` (``Registry/register(meter:as:)``).
    ///
    /// A name that is not registered is recorded as a mistake.
    /// - Returns: The meter; nil if the key names none.
    package func registeredMeter(_ key: String) -> (any GateMeter)? {
        guard let text = string(key), text.hasPrefix(Self.meterPrefix) else { return nil }
        let name = String(text.dropFirst(Self.meterPrefix.count))
        if let meter = meters[name] { return meter }
        // A referenced value may be a secret.
        let isShown = value(key)?.string != nil
        let shown = isShown ? "\"\(Grammar.escaped(name, upTo: 100))\"" : "the referenced name"
        let hint = isShown ? NearMiss.hint(for: name, among: meters.keys) : ""
        issue(at: key, "found \(shown); expected the name of a meter that is registered\(hint)")
        return nil
    }

    /// The start of a value that names a registered meter.
    package static var meterPrefix: String { "meter:" }
}
