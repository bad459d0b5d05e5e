// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeSupport

/// Handles Ctrl-C: cancels the work, waits for its end, and reports the signal in the exit status.
enum Interruption {
    /// Runs work that SIGINT and SIGTERM cancel; the status is then 128 plus the signal number.
    ///
    /// A second signal ends the process at once.
    static func run(_ work: @escaping @Sendable () async -> Int32) async -> Int32 {
        guard SignalPipe.end.read >= 0 else { return await work() }
        // The work starts after this setup, because a signal must be able to undo the work.
        for number in [SIGINT, SIGTERM] { SignalPipe.take(number) }
        // The code below waits for this task, and a signal cancels the task.
        let task = Task { await work() }
        let first = FirstSignal()
        let thread = Thread {
            while let number = SignalPipe.next() {
                if first.isFirst(number) { task.cancel() } else { _exit(128 + number) }
            }
        }
        thread.name = "turnpike.signals"
        thread.start()
        let status = await task.value
        return first.number == 0 ? status : 128 + first.number
    }
}

private final class FirstSignal: Sendable {
    private let signal = Atomic<Int32>(0)

    var number: Int32 { signal.load(ordering: .acquiring) }

    func isFirst(_ number: Int32) -> Bool {
        signal.compareExchange(expected: 0, desired: number, ordering: .acquiringAndReleasing)
            .exchanged
    }
}

/// Passes signals to a thread, because a signal handler may do almost nothing.
private enum SignalPipe {
    /// Both ends of the pipe, or -1 if the pipe could not be created.
    static let end: (read: Int32, write: Int32) = {
        var ends: [Int32] = [-1, -1]
        _ = unsafe pipe(&ends)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }()

    /// Sends a signal through the pipe, unless the process was started with the signal ignored.
    static func take(_ number: Int32) {
        let before = signal(number) { number in
            let code = errno
            var byte = UInt8(truncatingIfNeeded: number)
            _ = unsafe write(SignalPipe.end.write, &byte, 1)
            errno = code
        }
        if unsafe unsafeBitCast(before, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) {
            signal(number, SIG_IGN)
        }
    }

    static func next() -> Int32? {
        var byte: UInt8 = 0
        while true {
            let count = unsafe read(end.read, &byte, 1)
            if count == 1 { return Int32(byte) }
            if count == 0 || errno != EINTR { return nil }
        }
    }
}
