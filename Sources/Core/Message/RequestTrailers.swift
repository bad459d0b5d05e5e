public import Foundation

extension Body {
    /// The same content with trailer fields behind it (RFC 9110 §6.5).
    ///
    /// See ``followed(by:_:)``.
    public func followed(by trailers: HTTPHeaders) -> Body {
        if let fault = trailers.sendingFault {
            return .catching { throw ClientError(.invalidRequest, fault) }
        }
        return trailers.isEmpty ? self : followed(by: trailers.map(\.name)) { trailers }
    }

    /// The same content with trailer fields behind it (RFC 9110 §6.5), which are asked for once it
    /// has been read to its end.
    ///
    /// The names are announced in the field `Trailer`. A transport that cannot send trailers
    /// (``TransportCapabilities/requestTrailers``) refuses the call as
    /// ``ClientError/Code/unsupported``, and a name that has no place there (framing, routing,
    /// authentication, the content's form: RFC 9110 §6.5.1) fails it as
    /// ``ClientError/Code/invalidRequest``, both before anything is sent. So does a field without
    /// an announced name or with a control character in its value, but when the content has ended:
    /// the request is broken off then.
    ///
    /// HTTP/1.1 has trailers behind content in chunks alone, so that no length is sent. Servers
    /// may drop them. Each send asks anew: a retry sends what is given then.
    /// - Parameters:
    ///   - names: The fields that may come; not all of them must.
    ///   - trailers: Returns the fields; what it throws fails the call.
    /// - Returns: The body.
    public func followed(
        by names: [HTTPHeaders.Name], _ trailers: @escaping @Sendable () throws -> HTTPHeaders
    ) -> Body {
        followed(by: names, reducingInto: {}, { _, _ in }, trailers: { _ in try trailers() })
    }

    /// The same content with trailer fields behind it that are made of its bytes, a checksum for
    /// instance.
    ///
    /// ```swift
    /// let body = Body.file(url).followed(by: ["X-CRC32"], reducingInto: { CRC32() }) {
    ///     $0.update($1)
    /// } trailers: { ["X-CRC32": $0.text] }
    /// ```
    ///
    /// See ``followed(by:_:)``.
    /// - Parameters:
    ///   - names: The fields that may come; not all of them must.
    ///   - initial: Makes what each send begins with.
    ///   - update: Adds a chunk of the content to it.
    ///   - trailers: Returns the fields at the end of the content.
    /// - Returns: The body.
    public func followed<State>(
        by names: [HTTPHeaders.Name], reducingInto initial: @escaping @Sendable () -> State,
        _ update: @escaping @Sendable (inout State, Data) throws -> Void,
        trailers: @escaping @Sendable (State) throws -> HTTPHeaders
    ) -> Body {
        if let fault = RequestTrailers.fault(of: names) { return .catching { throw fault } }
        return followed(
            by: RequestTrailers(names: names) {
                var state = initial()
                return RequestTrailers.Run(
                    names: names, update: { try update(&state, $0) },
                    make: { try trailers(state) })
            })
    }
}

/// The trailer fields of a request's body: which may come, and how each send makes them.
struct RequestTrailers: Sendable {
    /// What one send adds up, for one task.
    struct Run {
        let names: [HTTPHeaders.Name]
        let update: (Data) throws -> Void
        let make: () throws -> HTTPHeaders

        /// - Throws: ``ClientError/Code/invalidRequest`` for what cannot be sent.
        func fields() throws -> HTTPHeaders {
            let fields = try make()
            if let fault = fields.sendingFault {
                throw ClientError(.invalidRequest, "the request's trailers: \(fault)")
            }
            if let other = fields.first(where: { !names.contains($0.name) }) {
                throw ClientError(
                    .invalidRequest,
                    "the trailer field \(other.name) was not announced; name it with the others")
            }
            return fields
        }
    }

    let names: [HTTPHeaders.Name]
    let begin: @Sendable () -> Run

    static func fault(of names: [HTTPHeaders.Name]) -> ClientError? {
        if names.isEmpty {
            return ClientError(.invalidRequest, "name the trailer fields of the request's body")
        }
        for name in names {
            if !Grammar.isToken(name.rawValue) {
                return ClientError(
                    .invalidRequest,
                    "the name of a trailer field is not a token (RFC 9110 §5.6.2); use letters,"
                        + " digits and hyphens")
            }
            if HTTPHeaders.isForbiddenInTrailers(name) {
                return ClientError(
                    .invalidRequest,
                    "the field \(name) has no place in trailers (RFC 9110 §6.5.1); make it a"
                        + " header field")
            }
        }
        return nil
    }

    static var notBehindPart: ClientError {
        ClientError(
            .invalidRequest, "a part of a body cannot have trailers; add them to the whole of it")
    }
}
