// SPDX-License-Identifier: Apache-2.0

/// The parts of a client that all its calls share.
final class CallEnvironment: Sendable {
    let timeSource: any TimeSource
    let randomSource: any RandomSource
    let baseOrigin: Origin?
    let running = OpenCalls()

    init(
        timeSource: any TimeSource, randomSource: any RandomSource, baseOrigin: Origin? = nil
    ) {
        self.timeSource = timeSource
        self.randomSource = randomSource
        self.baseOrigin = baseOrigin
    }
}
