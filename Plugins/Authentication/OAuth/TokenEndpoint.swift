// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeMiddleware
public import TurnpikeSupport

/// The token endpoint of an OAuth 2 authorization server, with the client's credentials.
///
/// The rules are in RFC 6749 §2.3 and §3.2. A redirect that repeats the form (307, 308) is followed
/// within the endpoint's origin, even if the stack has no redirect gate. Any other redirect is
/// refused (``/TurnpikeCore/ClientError/Code/redirect``), because the form contains secrets.
///
/// Requests and responses have a size limit, and their content is never printed. If the response
/// contains no token, the provider throws an ``OAuthError`` with the status and the error code.
public struct TokenEndpoint: Sendable {
    /// The place of the client's identifier and secret in a request.
    public enum ClientAuthentication: Sendable {
        /// The `Authorization` field, which every server must support (RFC 6749 §2.3.1).
        case basic
        /// The form, for servers that do not support the `Authorization` field.
        case form
    }

    /// The endpoint's URL.
    public var url: URL { Request(.post, target).url }
    private let target: Target
    private let clientID: String?
    private let clientSecret: Secret?
    private let authentication: ClientAuthentication
    private let client: Client?

    /// Creates an endpoint.
    /// - Parameters:
    ///   - url: The endpoint's URL. Use https, because the requests contain refresh tokens and
    ///     secrets.
    ///   - clientID: The client's identifier.
    ///   - clientSecret: The client's secret. A public client has no secret.
    ///   - authentication: The place of the secret in a request.
    ///   - client: The client that sends the requests. If nil, requests go through the inner gates
    ///     of the bearer gate and the transport of its client.
    public init(
        _ url: Target, clientID: String? = nil, clientSecret: String? = nil,
        authentication: ClientAuthentication = .basic, client: Client? = nil
    ) {
        target = url
        self.clientID = clientID
        self.clientSecret = clientSecret.map { Secret($0) }
        self.authentication = authentication
        self.client = client
    }

    /// Creates an endpoint whose URL is a text.
    public init(
        _ url: String, clientID: String? = nil, clientSecret: String? = nil,
        authentication: ClientAuthentication = .basic, client: Client? = nil
    ) {
        self.init(
            Target(url), clientID: clientID, clientSecret: clientSecret,
            authentication: authentication, client: client)
    }

    /// Requests a token.
    /// - Throws: An ``OAuthError``, or the error of the request.
    func token(_ form: OAuthForm, by exchange: TokenExchange) async throws -> BearerToken {
        let request = exchange.prepared(request(form))
        // The lifetime counts from a moment before the request, because a token may expire here too
        // early, but not too late.
        let date = exchange.date
        let (head, content) = try await send(request, by: exchange)
        guard head.status.code / 100 == 2 else {
            throw OAuthError(
                status: head.status, content: content,
                retryAfter: head.headers.retryAfter(at: exchange.date))
        }
        return try TokenAnswer.token(from: content, status: head.status, date: date)
    }

    private func request(_ grant: OAuthForm) -> Request {
        var form = grant
        var headers: HTTPHeaders = [
            "Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded",
        ]
        if let clientID {
            if let clientSecret, authentication == .basic {
                let pair = OAuthForm.encode(clientID) + ":" + OAuthForm.encode(clientSecret.value)
                headers[.authorization] = "Basic " + Data(pair.utf8).base64EncodedString()
            } else {
                form = form.adding("client_id", clientID)
                if let clientSecret { form = form.adding("client_secret", clientSecret.value) }
            }
        }
        let content = Data(form.encoded.utf8)
        var request = Request(.post, target, headers: headers, body: .data(content, type: .form))
        request.options[OriginBoundOption.self] = true
        return request
    }

    // This gate applies `OriginBoundOption` too, as the redirect gate of a client does.
    private static let redirect = Redirect(limit: 5)

    // An inner validator may have refused the response.
    private func send(
        _ request: Request, by exchange: TokenExchange
    ) async throws -> (ResponseHead, Data) {
        do {
            let response: Response
            if let client {
                let home = StayingAtHome(home: request.origin)
                response = try await client.request(request).through(Self.redirect).through(home)
                    .response()
            } else {
                response = try await exchange.send(request, through: Self.redirect)
            }
            return (response.head, try await response.body.collect(upTo: TokenAnswer.maxBytes))
        } catch let error as ClientError where error.code == .validation {
            guard let head = error.response else { throw error }
            return (head, error.responseBody)
        }
    }
}

/// Refuses a redirect to another origin, because the form holds secrets.
private struct StayingAtHome: SynchronousRequestAdapter {
    let home: Origin?

    func adapt(_ request: inout Request, context: Context) throws {
        guard request.origin == home else {
            throw ClientError(.redirect, "the token endpoint redirects to another origin")
        }
    }
}

extension TokenEndpoint: DescriptionReflectable {
    /// The URL without secrets.
    public var description: String { Redaction.standard.url(url) }
}

/// The form fields of a request to a token endpoint, in order.
///
/// The values are never printed.
struct OAuthForm: Sendable {
    private var fields: [(name: String, value: Secret)]

    init(grant: String, _ scope: [String], _ parameters: [String: String]) {
        fields = [("grant_type", Secret(grant))]
        if !scope.isEmpty { fields.append(("scope", Secret(scope.joined(separator: " ")))) }
        for (name, value) in parameters.sorted(by: { $0.key < $1.key }) {
            fields.append((name, Secret(value)))
        }
    }

    func adding(_ name: String, _ value: String) -> OAuthForm {
        var copy = self
        copy.fields.append((name, Secret(value)))
        return copy
    }

    var encoded: String {
        fields.map { Self.encode($0.name) + "=" + Self.encode($0.value.value) }
            .joined(separator: "&")
    }

    static func encode(_ text: String) -> String { PercentEncoding.unreserved.encode(text) }
}

/// Parses the response of a token endpoint (RFC 6749 §5.1).
enum TokenAnswer {
    static let maxBytes = 65_536
    private static let maxTokenBytes = 16_384
    private static let maxLife: TimeInterval = 10 * 365 * 86_400

    static func token(
        from content: Data, status: HTTPStatus, date: Date
    ) throws -> BearerToken {
        guard let answer = (try? JSONValue(parsing: content))?.object,
            let access = answer["access_token"]?.string, isToken(access)
        else {
            // Some servers report an error with status 200.
            throw OAuthError(status: status, content: content)
        }
        // Some servers omit `token_type`. The bearer gate supports no other token type.
        if let type = answer["token_type"]?.string, type.lowercased() != "bearer" {
            throw OAuthError(.invalidResponse, status: status)
        }
        let refresh = answer["refresh_token"]?.string.flatMap { isToken($0) ? $0 : nil }
        return BearerToken(
            access, expires: life(answer["expires_in"]).map(date.addingTimeInterval),
            refreshToken: refresh)
    }

    // Some servers write the lifetime as a string.
    private static func life(_ value: JSONValue?) -> TimeInterval? {
        guard let seconds = value?.double ?? value?.string.flatMap({ TimeInterval($0) }),
            seconds >= 0
        else { return nil }
        return min(seconds, maxLife)
    }

    // The syntax is in RFC 6749 §A.12. A space would end the token in a field value.
    static func isToken(_ text: String) -> Bool {
        (1...maxTokenBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
