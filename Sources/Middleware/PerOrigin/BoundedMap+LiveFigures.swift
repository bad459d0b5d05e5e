// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension BoundedMap {
    /// The figures of those entries about which there is something to say, in any order.
    func liveFigures(
        _ name: (Key) -> String, _ text: (Value) -> (String, isTrouble: Bool)?
    ) -> [LiveFigure] {
        compactMap { key, value in
            text(value).map { LiveFigure(name(key), $0.0, isTrouble: $0.isTrouble) }
        }
    }
}
