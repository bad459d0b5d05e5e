// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TurnpikeCore

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

extension Request {
    /// Creates a request from a Foundation request.
    ///
    /// Body streams are not supported. The time limit of the Foundation request is ignored; use a
    /// deadline instead.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/invalidRequest`` if the Foundation request has no
    ///   URL, or has a body stream.
    public init(_ request: URLRequest) throws {
        guard let url = request.url else {
            throw ClientError(.invalidRequest, "the URLRequest has no URL")
        }
        if request.httpBodyStream != nil {
            throw ClientError(
                .invalidRequest,
                "the URLRequest has a body stream; use RequestBody.stream, which can be replayed")
        }
        var headers = HTTPHeaders()
        for (name, value) in (request.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
            headers.append(HTTPHeaders.Name(name), value)
        }
        headers.remove(.contentLength)
        self.init(
            HTTPMethod(request.httpMethod ?? "GET"), url, headers: headers,
            body: .data(request.httpBody ?? Data()))
    }
}

extension URLRequest {
    /// Creates a Foundation request from a request whose body is in memory.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/unsupported`` if the body is a file or a stream,
    ///   or has trailers. If the request is not valid, the code is
    ///   ``/TurnpikeCore/ClientError/Code/invalidRequest``.
    public init(_ request: Request) throws {
        if let fault = request.fault { throw ClientError(.invalidRequest, fault) }
        var request = request
        request.describeBody()
        guard let data = request.body.inMemory else {
            throw ClientError(
                .unsupported,
                "a URLRequest cannot hold a body that is a file or a stream, or that has trailers")
        }
        self.init(url: request.url)
        httpMethod = request.method.rawValue
        // Several lines with the same name become one line.
        for name in Set(request.headers.map(\.name)) {
            setValue(request.headers[name], forHTTPHeaderField: name.rawValue)
        }
        if !data.isEmpty { httpBody = data }
    }
}
