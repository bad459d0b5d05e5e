// SPDX-License-Identifier: Apache-2.0

/// The abilities of a transport, in addition to sending a request and streaming the response.
///
/// If a call needs a capability that the transport does not have, the call fails with
/// ``ClientError/Code/unsupported`` before anything is sent. `TransportConformance` in
/// `TurnpikeTesting` checks each declared capability.
public struct TransportCapabilities: OptionSet, Hashable, Sendable {
    /// The bits of the set.
    public let rawValue: UInt32

    /// Creates a set from bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The transport sends request bodies of unknown length while they are produced.
    ///
    /// Without this capability, calls with a live body (``RequestBody/isLive``) fail.
    public static let liveUpload = Self(rawValue: 1 << 0)
    /// The transport can send trailer fields after the content of a request.
    ///
    /// Without this capability, calls with request trailers (``RequestBody/followed(by:_:)``) fail.
    public static let requestTrailers = Self(rawValue: 1 << 1)
    /// The caller gets the trailer fields of a response (``ResponseBody/trailers``).
    public static let trailers = Self(rawValue: 1 << 2)
    /// The timeline contains the times of the phases of an exchange (``Context/report(_:)``):
    /// connection available, request could be sent, first byte of the response.
    public static let phaseTimes = Self(rawValue: 1 << 3)

    /// The transport counts the bytes of encoded content as they arrive
    /// (``ResponseBody/encodedBytes``), and a limit on decoding therefore applies at each moment.
    public static let encodedSizes = Self(rawValue: 1 << 4)

    /// The transport can connect to another address than the host of the URL.
    ///
    /// The request contains the address in ``RequestOptions/connectTarget``. The request and TLS
    /// still use the host name of the URL. Without this capability, requests with a connect target
    /// fail.
    public static let connectTargets = Self(rawValue: 1 << 5)
    /// The transport checks addresses of connections by a rule (``RequestOptions/addressRule``).
    ///
    /// Without this capability, the rule is ignored. A gate that sets a rule therefore also checks
    /// the host as far as possible.
    public static let addressRules = Self(rawValue: 1 << 6)

    /// The transport can change a connection to another protocol (``RequestOptions/upgrade``).
    ///
    /// Without this capability, requests for an upgrade fail.
    public static let upgrades = Self(rawValue: 1 << 7)

    private static let names: [(Self, String)] = [
        (.liveUpload, "live upload"), (.requestTrailers, "request trailers"),
        (.trailers, "trailers"), (.phaseTimes, "phase times"),
        (.encodedSizes, "encoded sizes"), (.connectTargets, "connect targets"),
        (.addressRules, "address rules"), (.upgrades, "upgrades"),
    ]

    func fault(missing required: Self, for asker: String) -> ClientError? {
        let missing = required.subtracting(self)
        guard !missing.isEmpty else { return nil }
        return ClientError(
            .unsupported,
            "\(asker) needs \(missing), which the client's transport does not support; use a"
                + " transport that does, such as CurlTransport without a proxy for all hosts")
    }
}

extension TransportCapabilities: CustomStringConvertible {
    /// The names of the capabilities.
    public var description: String {
        Self.names.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}
