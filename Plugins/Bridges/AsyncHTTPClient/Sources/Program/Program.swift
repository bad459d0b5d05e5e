// SPDX-License-Identifier: Apache-2.0

import TurnpikeAsyncHTTPClient
import TurnpikeCommandLine

/// The command `turnpike` with the transport `async-http-client` for stack files.
@main
struct Program {
    static func main() async {
        await TurnpikeCommand.main { $0.registerAsyncHTTPClient() }
    }
}
