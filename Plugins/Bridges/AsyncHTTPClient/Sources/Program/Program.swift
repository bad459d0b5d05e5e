// SPDX-License-Identifier: Apache-2.0

import TurnpikeAsyncHTTPClient
import TurnpikeCommandLine

/// The command `turnpike` for stack files with the transport `async-http-client`.
@main
struct Program {
    static func main() async {
        await TurnpikeCommand.main { $0.registerAsyncHTTPClient() }
    }
}
