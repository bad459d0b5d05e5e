// SPDX-License-Identifier: Apache-2.0

/// A gate that receives one measurement for each request, after the response body has ended.
public protocol MetricsRecorder: Gate {
    /// Records a measurement.
    func record(_ measurement: CallMeasurement)

    /// Receives a request that enters the gate, for example to count the active requests.
    ///
    /// For each call of this method, the framework later calls ``record(_:)`` once.
    func passBegins(_ request: Request)
}

extension MetricsRecorder {
    /// Does nothing by default.
    public func passBegins(_ request: Request) {}
}
