public import Foundation

// What goes wrong, by the phase in which it does. Each tells as much as a real transport would, so
// that a retry decides as it does outside of tests.
extension MockResponse {
    /// No answer: the host's name is not known; nothing was sent.
    public static var hostNotFound: Self {
        .failure(
            ClientError(.dns, "the mock does not know the host", transfer: .init(.connecting)))
    }

    /// No answer: the connection is refused, so that nothing was sent.
    public static var connectionRefused: Self {
        .failure(
            ClientError(
                .connection, "the mock refuses the connection", transfer: .init(.connecting)))
    }

    /// No answer: no connection is made in time; nothing was sent.
    public static var connectTimeout: Self {
        .failure(
            ClientError(
                .connectTimeout, "the mock accepts no connection", transfer: .init(.connecting)))
    }

    /// No answer: the TLS handshake fails; nothing was sent.
    public static var handshakeFailed: Self {
        .failure(
            ClientError(.tls, "the mock fails the handshake", transfer: .init(.connecting)))
    }

    /// No answer: the connection is lost after the request was sent.
    public static var connectionLost: Self {
        .failure(
            ClientError(.connection, "the mock loses the connection", transfer: .init(.sending)))
    }

    /// No answer: the connection is lost within the head of the response.
    public static var lostInHead: Self {
        .failure(
            ClientError(
                .connection, "the mock loses the connection within the head",
                transfer: .init(.receiving)))
    }

    /// An answer whose content ends before its length.
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
