// SPDX-License-Identifier: Apache-2.0

/// What a response tells of the call that it belongs to.
///
/// The call gives it when the response is made. Only classes are one, so that holding one costs no
/// allocation.
protocol ResponseHistory: AnyObject, Sendable {
    /// The times of the events of the call.
    var timeline: Timeline { get }

    /// How many times the transport was asked to send.
    var sends: Int { get }

    /// The redirects that were followed.
    var hops: [Hop] { get }

    /// Adds to the error of a response's body the request as it was sent, the head of the response,
    /// and how the attempts went.
    func completed(_ error: ClientError, of head: ResponseHead) -> ClientError

    /// Adds to an error of who makes a value of a response what is known of the call.
    func completed(_ error: any Error) -> any Error
}

/// Who hears how the body of an exchange's response is read.
protocol ResponseBodyListener: AnyObject, Sendable {
    /// The reader gets content bytes of an exchange.
    func didReceive(bytes: Int, in exchange: Int)

    /// The body of an exchange has ended.
    func didEndBody(of exchange: Int)
}
