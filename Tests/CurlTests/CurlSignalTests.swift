// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
import CTurnpikeCurl
import Foundation
import Testing

@Suite("SIGPIPE, which OpenSSL raises under old versions of libcurl")
struct CurlSignalTests {
    @Test("While the signal is held, a write to a closed connection ends no process")
    func held() async {
        await #expect(processExitsWith: .success) {
            let fault = holding { writeToClosedPipe() }
            #expect(fault == EPIPE)
        }
    }

    @Test("After the signal is released, such a write ends the process again")
    func released() async {
        await #expect(processExitsWith: .signal(SIGPIPE)) {
            holding {}
            _ = writeToClosedPipe()
        }
    }

    @Test("A signal that the thread already holds stays held")
    func nested() async {
        await #expect(processExitsWith: .success) {
            let fault = holding {
                holding {}
                return writeToClosedPipe()
            }
            #expect(fault == EPIPE)
        }
    }
}

private func holding<Value>(_ body: () -> Value) -> Value {
    var held = tpc_held_sigpipe()
    unsafe tpc_hold_sigpipe(&held, true)
    defer { unsafe tpc_release_sigpipe(&held) }
    return body()
}

private func writeToClosedPipe() -> Int32 {
    var ends: [Int32] = [0, 0]
    _ = signal(SIGPIPE, SIG_DFL)
    _ = unsafe pipe(&ends)
    close(ends[0])
    return unsafe write(ends[1], "x", 1) < 0 ? errno : 0
}
#endif
