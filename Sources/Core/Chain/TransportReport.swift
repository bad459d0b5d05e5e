// SPDX-License-Identifier: Apache-2.0

/// A fact about an exchange that only the transport knows.
///
/// The ``Timeline`` of the call records the fact. Sent bytes also count in the progress of the
/// call, and repeated sends count in ``Context/sendCount``.
public enum TransportReport: Sendable {
    /// The host name was resolved.
    case resolved(at: MonotonicInstant)
    /// The connection was available.
    /// - Parameters:
    ///   - at: The time when the connection was established or taken from the pool.
    ///   - isReused: Whether the connection has served another exchange; nil if unknown.
    ///   - peer: The address of the peer, if known.
    case connected(at: MonotonicInstant, isReused: Bool?, peer: String?)
    /// The TLS handshake was complete.
    case secured(at: MonotonicInstant)
    /// The request could be sent.
    case ready(at: MonotonicInstant)
    /// The first byte of the response arrived.
    case firstByte(at: MonotonicInstant)
    /// The total number of sent bytes of the request content. If the transport sends the content
    /// again, the number restarts at 0.
    case sent(bytes: Int64)
    /// The library below the transport has sent the request again, which no transport can prevent.
    case sentAgain
    /// The upgraded connection has sent or received a message, or a part of a message
    /// (``UpgradedConnection/report(messageOf:isSent:)``).
    case message(bytes: Int, isSent: Bool)
}

extension Timeline {
    /// Records a report of a transport.
    public mutating func take(_ report: TransportReport) {
        switch report {
        case .resolved(let instant): resolved = instant
        case .connected(let instant, let isReused, let peer):
            connected = instant
            isConnectionReused = isReused
            peerAddress = peer
        case .secured(let instant): secured = instant
        case .ready(let instant): ready = instant
        case .firstByte(let instant): firstByte = instant
        case .sent(let bytes): bodyBytesSent = bytes
        case .message(let bytes, true): bodyBytesSent += Int64(bytes)
        case .message, .sentAgain: break
        }
    }
}

extension Context {
    /// Reports facts about an exchange that only the transport knows.
    ///
    /// Report bytes when they are sent, because reports of bytes update the progress of the call.
    /// Report phase times before the transport returns the response head, one by one or all
    /// together. After another attempt has begun, reports of the earlier exchange are ignored.
    ///
    /// ```swift
    /// context.report(
    ///     .connected(at: connectedAt, isReused: false, peer: "192.0.2.1"),
    ///     .ready(at: context.timeSource.now))
    /// ```
    /// - Parameter reports: The facts, in any order.
    public func report(_ reports: TransportReport...) { report(all: reports) }

    /// Reports a list of facts; see ``report(_:)``.
    public func report(all reports: [TransportReport]) {
        call.record.take(reports, ofAttempt: attempt)
        call.stream?.tell(.reported(reports), in: self)
    }
}
