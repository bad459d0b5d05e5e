// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeReachability

/// Prints the interfaces that the machine is connected by, in one line: at first, and after each
/// change, until there is one.
///
/// It is run in a network namespace of its own, where nothing is connected until someone adds an
/// interface.
@main
enum Paths {
    static func main() async {
        let monitor = PathMonitor.system()
        for await path in monitor.paths {
            let line = "[" + path.interfaces.joined(separator: ",") + "]\n"
            FileHandle.standardOutput.write(Data(line.utf8))
            if path.isReachable { break }
        }
    }
}
