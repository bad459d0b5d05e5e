// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import TestSupport
import Testing
import Turnpike

#if os(Linux)
/// What FoundationNetworking does wrong and no client can repair, one fault in a process each.
///
/// A fault that is gone fails its test: then its entry in `Tests/URLSessionFaults.json`, its page
/// of the documentation and what works around it can go as well. What is merely slow is shown by
/// `turnpike-fault` alone, since no test should depend on the time that something takes.
@Suite("Faults of FoundationNetworking")
struct URLSessionFaultTests {
    struct Fault: Decodable, Sendable, CustomTestStringConvertible {
        let cases: [String]
        let shown: String
        let ends: String
        let reason: String

        var testDescription: String { shown }
    }

    private static let faults: [Fault] = {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "URLSessionFaults.json")
        let data = (try? Data(contentsOf: file)) ?? Data()
        return (try? JSONDecoder().decode([Fault].self, from: data)) ?? []
    }()

    @Test("The list can be read")
    func list() { #expect(Self.faults.count == 8) }

    @Test(
        "A fault is still there", .timeLimit(.minutes(3)),
        arguments: faults.filter { $0.ends != "slow" })
    func fault(fault: Fault) async throws {
        // Some depend on which of two threads is first.
        var ends: [String] = []
        repeat { ends.append(await end(of: fault)) } while ends.last != fault.ends && ends.count < 5
        #expect(ends.last == fault.ends, "\(ends)")
    }

    /// How a program ends that meets the fault: `crash`, `fault` (status 3), or another status.
    private func end(of fault: Fault) async -> String {
        do {
            let child = try ChildProcess(
                Program.path(of: "turnpike-fault"), [fault.shown],
                environment: ["SWIFT_BACKTRACE": "enable=no"], errors: .null)
            switch await child.end() {
            case .killed: return "crash"
            case .exited(let status): return status == 3 ? "fault" : "status \(status)"
            }
        } catch {
            return "\(error)"
        }
    }
}
#endif
