import Foundation

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

extension Request {
    /// Creates a request from Foundation's.
    ///
    /// A body stream of Foundation's is not taken over; its time limit becomes a deadline's
    /// business.
    /// - Throws: ``ClientError/Code/invalidRequest`` where it has no URL, or a body stream.
    public init(_ request: URLRequest) throws {
        guard let url = request.url else {
            throw ClientError(.invalidRequest, "the URLRequest has no URL")
        }
        if request.httpBodyStream != nil {
            throw ClientError(
                .invalidRequest,
                "the URLRequest has a body stream; use Body.stream, which can be replayed")
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
    /// Creates Foundation's request from a request whose body is in memory.
    /// - Throws: ``ClientError/Code/unsupported`` for a body that is a file or a stream, or has
    ///   trailers, ``ClientError/Code/invalidRequest`` for a request that could not be sent.
    public init(_ request: Request) throws {
        if let fault = request.fault { throw ClientError(.invalidRequest, fault) }
        var request = request
        request.describeBody()
        request.uniteCookies()
        guard let data = request.body.inMemory else {
            throw ClientError(
                .unsupported,
                "a body that is a file or a stream, or has trailers, does not fit a URLRequest")
        }
        self.init(url: request.url)
        httpMethod = request.method.rawValue
        for field in request.headers {
            addValue(field.value, forHTTPHeaderField: field.name.rawValue)
        }
        if !data.isEmpty { httpBody = data }
    }
}
