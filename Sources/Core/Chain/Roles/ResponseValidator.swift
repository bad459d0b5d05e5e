/// A gate that rejects responses.
///
/// ```swift
/// struct JSONOnly: ResponseValidator {
///     func validate(_ response: Response, for request: Request, context: Context) throws {
///         guard response.headers[.contentType] == "application/json" else { throw NotJSON() }
///     }
/// }
/// ```
///
/// The framework discards the body of a rejected response. A ``ClientError`` with
/// ``ClientError/Code/validation`` keeps the head and up to 4 KiB of the body. Inside a retry, a
/// rejected status can be retried.
public protocol ResponseValidator: Gate {
    /// Returns to accept the response, or throws to reject it.
    func validate(_ response: Response, for request: Request, context: Context) async throws
}
