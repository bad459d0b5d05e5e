// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import TestSupport
import Testing
import TurnpikeTesting

/// Runs a script in a user and a network namespace of its own.
/// - Returns: What it printed, or nil where it failed: the machine may not allow it.
private func inNamespace(_ script: String, _ arguments: String...) async -> String? {
    // It ends in time, whatever the script waits for.
    let child = try? ChildProcess(
        "timeout", ["60", "unshare", "-rn", "/bin/sh", "-c", script, "sh"] + arguments,
        output: .pipe, errors: .null)
    guard let (end, said, _) = await child?.finished(), end == .exited(0) else { return nil }
    return String(decoding: said, as: UTF8.self)
}

/// Makes an interface that is up; where the kernel has no dummies, one end of a cable.
private func make(_ name: String) -> String {
    "{ ip link add \(name) type dummy || { ip link add \(name) type veth peer name p\(name)"
        + " && ip link set p\(name) up; }; } && ip link set \(name) up"
}

/// Whether interfaces can be made here: as in the tests below, without the program under test.
private func canMakeInterfaces() async -> Bool { await inNamespace(make("probe0")) != nil }

@Suite("Path monitor in a network namespace")
struct NamespaceTests {
    private let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appending(path: "turnpike-paths").path()

    // The first line says that the monitor is listening; the interface is added behind it.
    private func lines(_ commands: String) async -> [String] {
        let script = """
            "$1" | {
              read -r line && printf '%s\\n' "$line"
              { \(commands); } >/dev/null 2>&1
              cat
            }
            """
        return (await inNamespace(script, program) ?? "failed").split(separator: "\n").map {
            String($0)
        }
    }

    @Test(
        "An interface with an address is the next path",
        .needs("unshare and ip, and leave to make interfaces") { await canMakeInterfaces() })
    func added() async {
        let lines = await lines(make("some0") + " && ip addr add 192.0.2.1/24 dev some0")
        #expect(lines == ["[]", "[some0]"])
    }

    @Test(
        "An interface with only a link-local address, or loopback, is not a path",
        .needs("unshare and ip, and leave to make interfaces") { await canMakeInterfaces() })
    func linkLocal() async {
        let lines = await lines(
            "ip link set lo up && \(make("some1")) && ip addr add fe80::5/64 dev some1 nodad"
                + " && \(make("some2")) && ip addr add 2001:db8::1/64 dev some2 nodad")
        #expect(lines == ["[]", "[some2]"])
    }
}
