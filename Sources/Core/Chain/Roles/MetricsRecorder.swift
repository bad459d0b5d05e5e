// SPDX-License-Identifier: Apache-2.0

/// A gate that receives one measurement for each pass, after the body has ended.
public protocol MetricsRecorder: Gate {
    /// Records a pass.
    func record(_ measurement: CallMeasurement)

    /// Called when a pass begins, for example to count the active ones.
    ///
    /// Each call is followed by one ``record(_:)``.
    func passBegins(_ request: Request)
}

extension MetricsRecorder {
    /// Does nothing.
    public func passBegins(_ request: Request) {}
}
