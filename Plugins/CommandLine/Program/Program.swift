// SPDX-License-Identifier: Apache-2.0

import TurnpikeCommandLine

@main
struct Program {
    static func main() async { await TurnpikeCommand.main() }
}
