// SPDX-License-Identifier: Apache-2.0

public import Foundation

// Faults by the phase in which they happen. Each reports as much as a real transport would, so that
// retries decide as they do in production.
extension MockResponse {
    /// The host name cannot be resolved; nothing was sent.
    public static var hostNotFound: Self {
        .failure(
            ClientError(.dns, "the mock does not know the host", transfer: .init(.connecting)))
    }

    /// The connection is refused; nothing was sent.
    public static var connectionRefused: Self {
        .failure(
            ClientError(
                .connection, "the mock refuses the connection", transfer: .init(.connecting)))
    }

    /// No connection is established in time; nothing was sent.
    public static var connectTimeout: Self {
        .failure(
            ClientError(
                .connectTimeout, "the mock accepts no connection", transfer: .init(.connecting)))
    }

    /// The TLS handshake fails; nothing was sent.
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

    /// A response whose content ends before its declared length.
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
