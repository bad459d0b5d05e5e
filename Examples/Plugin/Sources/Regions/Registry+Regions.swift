// SPDX-License-Identifier: Apache-2.0

import Turnpike
import TurnpikeStackFiles

extension Registry {
    /// Registers the names of this plugin.
    public mutating func registerRegions() {
        register(
            gate: "prefer",
            description: PartDescription(
                "Sends a request to one region, and to another if that cannot be reached.",
                settings: ["region": "The first region.", "otherwise": "The other one."],
                example: #"{"use": "prefer", "region": "eu", "otherwise": "us"}"#)
        ) { settings in
            PreferRegion(settings.required("region"), otherwise: settings.required("otherwise"))
        }
    }
}
