// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

// Faults in the order of their phases. Each fault contains the same data as the error of a real
// transport, because retries must decide as in production.
extension MockResponse {
    /// The host name cannot be resolved, and no request was sent.
    public static var hostNotFound: Self {
        .failure(
            ClientError(.dns, "the mock does not know the host", transfer: .init(.connecting)))
    }

    /// The connection is refused, and no request was sent.
    public static var connectionRefused: Self {
        .failure(
            ClientError(
                .connection, "the mock refuses the connection", transfer: .init(.connecting)))
    }

    /// No connection is established in time, and no request was sent.
    public static var connectTimeout: Self {
        .failure(
            ClientError(
                .connectTimeout, "the mock accepts no connection", transfer: .init(.connecting)))
    }

    /// The TLS handshake fails, and no request was sent.
    public static var handshakeFailed: Self {
        .failure(
            ClientError(.tls, "the mock fails the handshake", transfer: .init(.connecting)))
    }

    /// The connection is lost after the request was sent.
    public static var connectionLost: Self {
        .failure(
            ClientError(.connection, "the mock loses the connection", transfer: .init(.sending)))
    }

    /// The connection is lost within the response head.
    public static var lostInHead: Self {
        .failure(
            ClientError(
                .connection, "the mock loses the connection within the head",
                transfer: .init(.receiving)))
    }

    /// A response whose content is shorter than the declared length.
    public static func cut(
        after content: Data, of length: Int, status: HTTPStatus = .ok, headers: HTTPHeaders = [:]
    ) -> Self {
        var headers = headers
        headers.setIfAbsent(.contentLength, String(length))
        return .stream(
            content.isEmpty ? [] : [content], status: status, headers: headers,
            thenThrow: ClientError(
                .incomplete, "the mock sends \(content.count) of \(length) bytes",
                transfer: .init(.receiving)))
    }
}

extension MockLatency {
    /// A uniform distribution over a range.
    public static func uniform(_ range: ClosedRange<Duration>) -> Self {
        Self { range.lowerBound + (range.upperBound - range.lowerBound) * $0 }
    }

    /// An exponential distribution, as for the time between independent events.
    public static func exponential(mean: Duration) -> Self {
        Self { mean * -log(1 - $0) }
    }

    /// A log-normal distribution, as for measured services, with one percent above `p99`.
    public static func logNormal(median: Duration, p99: Duration) -> Self {
        guard median > .zero else { return none }
        let spread = log(max(p99 / median, 1)) / 2.326_347_9
        return Self { median * exp(spread * normalQuantile($0)) }
    }

    // The formula is 26.2.23 of Abramowitz and Stegun, with an error below 0.00045.
    private static func normalQuantile(_ share: Double) -> Double {
        let tail = min(max(min(share, 1 - share), 1e-12), 0.5)
        let t = (-2 * log(tail)).squareRoot()
        let top = 2.515_517 + t * (0.802_853 + t * 0.010_328)
        let bottom = 1 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308))
        let value = t - top / bottom
        return share < 0.5 ? -value : value
    }
}
