// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

extension Call {
    /// Opens a socket with a request, which must be a GET.
    ///
    /// The handshake goes through the gates like any other call. A `wss` URL is sent as `https`,
    /// and a `ws` URL as `http`.
    /// - Parameters:
    ///   - protocols: The protocols to offer to the server, the preferred one first.
    ///   - options: The limits of the socket.
    /// - Returns: The open socket.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/validation`` if the status of the response is not
    ///   101, ``/TurnpikeCore/ClientError/Code/protocol`` if the response is not valid, or an error
    ///   of the call.
    public func webSocket(
        protocols: [String] = [], options: WebSocket.Options = WebSocket.Options()
    ) async throws -> WebSocket {
        let handshake = Handshake(
            protocols: protocols,
            offersDeflate: options.compression != .none && CompressionFormat.deflate.isThere)
        let response = try await handshake.call(self).response()
        guard response.status == 101, let connection = response.upgradedConnection else {
            response.body.cancel(.handle)
            throw ClientError(
                .validation, "the server answered \(response.status.code) instead of 101",
                response: response.head)
        }
        do {
            let agreement = try handshake.check(
                response.headers, switchingTo: connection.protocolName)
            return WebSocket(
                connection, agreement, head: response.head, options: options,
                timeSource: timeSource, serializers: serializers)
        } catch {
            connection.close()
            throw ClientError(.protocol, error.message, response: response.head)
        }
    }
}

extension Client {
    /// Opens a socket; see ``TurnpikeCore/Call/webSocket(protocols:options:)``.
    ///
    /// Set `Origin` and other fields of the handshake in `headers`.
    public func webSocket(
        _ target: some TargetConvertible, protocols: [String] = [], headers: HTTPHeaders = [:],
        options: WebSocket.Options = WebSocket.Options()
    ) async throws -> WebSocket {
        try await get(target, headers: headers).webSocket(protocols: protocols, options: options)
    }
}
