// SPDX-License-Identifier: Apache-2.0

/// The facts about a call that its responses show.
///
/// The call passes itself to each response. Only classes conform: a reference needs no allocation.
protocol ResponseHistory: AnyObject, Sendable {
    /// The times of the events of the call.
    var timeline: Timeline { get }

    /// How many times the transport was asked to send.
    var sends: Int { get }

    /// The redirects that were followed.
    var hops: [Hop] { get }

    /// Adds details to the error of a response's body: the request as it was sent, the head of the
    /// response, and the results of the attempts.
    func completed(_ error: ClientError, of head: ResponseHead) -> ClientError

    /// Adds the facts about the call to an error of code that makes a value of a response.
    func completed(_ error: any Error) -> any Error
}

/// Receives reports about the reading of a response body.
protocol ResponseBodyListener: AnyObject, Sendable {
    /// The reader gets content bytes of an exchange.
    func didReceive(bytes: Int, in exchange: Int)

    /// The body of an exchange has ended.
    func didEndBody(of exchange: Int)
}
