// SPDX-License-Identifier: Apache-2.0

/// A gate that receives one measurement for each pass, once the response body has ended.
public protocol MetricsRecorder: Gate {
    /// Records a pass.
    func record(_ measurement: CallMeasurement)

    /// Receives the request of a pass that begins, for example to count the active passes.
    ///
    /// One call of ``record(_:)`` follows each call of this method.
    func passBegins(_ request: Request)
}

extension MetricsRecorder {
    /// Does nothing.
    public func passBegins(_ request: Request) {}
}
