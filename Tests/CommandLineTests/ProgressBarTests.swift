// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TurnpikeTesting

@testable import TurnpikeCommandLine
@testable import TurnpikeCore

@Suite("The progress bar")
struct ProgressBarTests {
    private func progress(_ bytes: Int64, of total: Int64? = nil) -> TransferProgress {
        TransferProgress(bytesReceived: bytes, totalToReceive: total)
    }

    private func line(_ progress: TransferProgress, columns: Int = 80) -> String {
        ProgressBar.line(progress, elapsed: .seconds(2), columns: columns)
    }

    @Test("A line shows the percentage, the bytes, the rate and the remaining time")
    func known() {
        let text = line(progress(1 << 20, of: 4 << 20))
        #expect(text.hasPrefix("[==="))
        #expect(text.hasSuffix("] 25 %  1.0 MiB of 4.0 MiB  512.0 KiB/s  0:06"))
        #expect(text.count == 79)
    }

    @Test("Without a total there is no bar")
    func unknown() {
        #expect(line(progress(3000)) == "2.9 KiB  1.5 KiB/s")
        #expect(line(progress(0)) == "0 B  0 B/s")
    }

    @Test("The upload is shown until the response arrives")
    func upload() {
        let sent = TransferProgress(bytesSent: 500, totalToSend: 1000)
        #expect(line(sent).hasSuffix("50 %  sent 500 B of 1.0 KiB  250 B/s  0:02"))
    }

    @Test("No line is wider than the terminal", arguments: 0...120)
    func widths(columns: Int) {
        let states = [progress(5 << 30, of: 7 << 40), progress(1), progress(9, of: 3)]
        for state in states { #expect(line(state, columns: columns).count <= max(columns - 1, 0)) }
    }

    @Test("Nothing is drawn within the first second, or more often than ten times in another")
    func pace() {
        let clock = ManualClock()
        let drawn = Mutex<[String]>([])
        let bar = ProgressBar(columns: 80, now: { clock.now }) { text in
            drawn.withLock { $0.append(text) }
        }
        for _ in 0..<99 {
            clock.advance(by: .milliseconds(10))
            bar.show(progress(1))
        }
        #expect(drawn.withLock { $0 }.isEmpty)
        for _ in 0..<100 {
            clock.advance(by: .milliseconds(10))
            bar.show(progress(1))
        }
        #expect(drawn.withLock { $0.count } == 10)
        bar.end()
        bar.end()
        clock.advance(by: .seconds(1))
        bar.show(progress(2))
        #expect(drawn.withLock { $0.count } == 11)
        #expect(drawn.withLock { $0.last } == "\r\u{1B}[K")
    }

    @Test("A bar that was never drawn is not erased")
    func quick() {
        let bar = ProgressBar(columns: 80) { _ in Issue.record("something was drawn") }
        bar.show(progress(1))
        bar.end()
    }
}
