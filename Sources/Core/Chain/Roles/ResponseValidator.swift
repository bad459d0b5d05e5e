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
/// ``ClientError/Code/validation`` contains the head and the beginning of the body. An outer retry
/// gate can retry a rejected response by its status.
public protocol ResponseValidator: Gate {
    /// Whether a response certainly needs no ``validate(_:for:context:)``; false by default.
    func accepts(_ response: Response, for request: Request, context: Context) -> Bool

    /// Returns if the response is accepted, and throws an error if the response is rejected.
    func validate(_ response: Response, for request: Request, context: Context) async throws

    /// The number of bytes of a rejected response's content in the error; 4 KiB by default.
    ///
    /// The bytes are read for at most 100 ms. If the content has more bytes,
    /// ``ClientError/isResponseBodyCut`` is true.
    func keptBytes(for request: Request) -> Int
}

extension ResponseValidator {
    /// False by default: each response is validated.
    public func accepts(
        _ response: Response, for request: Request, context: Context
    ) -> Bool { false }

    /// 4 KiB, by default.
    public func keptBytes(for request: Request) -> Int { 4096 }
}
