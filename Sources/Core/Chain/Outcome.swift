/// What came of an attempt: the one type by which gates judge it.
///
/// A refused response and a returned one look alike: ``head`` is that of the response, or of the
/// response inside a validation error. So a retry acts on a status whether a validator stands
/// inside it or outside.
public struct Outcome: Sendable {
    /// The request as the judging gate sent it inward.
    public let request: Request
    /// The response, or the error.
    public let result: Result<Response, any Error>
    /// How many attempts the judging gate has made so far, from 1.
    public let attempts: Int
    /// How long the attempt took, up to the head of its response.
    public let elapsed: Duration
    /// How long the judging gate waited before this attempt; nil before the first.
    public let previousDelay: Duration?

    /// Creates an outcome.
    public init(
        request: Request, result: Result<Response, any Error>, attempts: Int = 1,
        elapsed: Duration = .zero, previousDelay: Duration? = nil
    ) {
        self.request = request
        self.result = result
        self.attempts = attempts
        self.elapsed = elapsed
        self.previousDelay = previousDelay
    }

    /// The response, where the attempt gave one.
    public var response: Response? { try? result.get() }

    /// The error, where the attempt threw one.
    public var error: (any Error)? {
        guard case .failure(let error) = result else { return nil }
        return error
    }

    /// The head of the response, or of the response inside an error.
    public var head: ResponseHead? { response?.head ?? refusedHead }

    private var refusedHead: ResponseHead? {
        code == .validation ? (error as? ClientError)?.response : nil
    }

    /// The status of ``head``.
    public var status: HTTPStatus? { head?.status }

    /// The code of a ``ClientError``, where one was thrown.
    public var code: ClientError.Code? { (error as? ClientError)?.code }

    /// The status with which a proxy refused to connect, where one did.
    public var proxyStatus: HTTPStatus? { (error as? ClientError)?.proxyStatus }

    /// How far the exchange had come, where a transport said so.
    public var transfer: TransferState? { (error as? ClientError)?.transfer }

    /// Whether it is certain that no server has acted on the request.
    public var isUnsent: Bool { transfer?.isUnsent ?? false }

    /// Whether the request's body can be sent again.
    public var isReplayable: Bool { request.body.isReplayable }

    /// A word for it: a status, or the kind of failure.
    var label: String {
        status.map { String($0.code) } ?? error.map(ClientError.label(of:)) ?? "a response"
    }

    /// Whether the attempt ended because someone gave the call up.
    public var isCancellation: Bool {
        switch error {
        case is CancellationError: true
        case let error as ClientError: error.code == .cancelled || error.code == .deadlineExceeded
        default: false
        }
    }
}
