// SPDX-License-Identifier: Apache-2.0

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
/// The framework discards the body of a rejected response. A ``ClientError`` with the code
/// ``ClientError/Code/validation`` keeps the head and the beginning of the body. Inside a retry, a
/// rejected status can be retried.
public protocol ResponseValidator: Gate {
    /// Whether a response plainly needs no ``validate(_:for:context:)``; false by default.
    func accepts(_ response: Response, for request: Request, context: Context) -> Bool

    /// Returns to accept the response, or throws to reject it.
    func validate(_ response: Response, for request: Request, context: Context) async throws

    /// How many bytes of a rejected response's content the error keeps; 4 KiB by default.
    ///
    /// The bytes are read for at most 100 ms. If the content has more bytes,
    /// ``ClientError/isResponseBodyCut`` is true.
    func keptBytes(for request: Request) -> Int
}

extension ResponseValidator {
    /// False: each response is judged.
    public func accepts(
        _ response: Response, for request: Request, context: Context
    ) -> Bool { false }

    /// 4 KiB.
    public func keptBytes(for request: Request) -> Int { 4096 }
}
