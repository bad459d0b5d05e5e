// SPDX-License-Identifier: Apache-2.0

import TurnpikeCommandLine

/// The command `turnpike`.
@main
struct Program {
    static func main() async { await TurnpikeCommand.main() }
}
