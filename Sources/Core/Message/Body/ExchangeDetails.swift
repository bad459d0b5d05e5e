// SPDX-License-Identifier: Apache-2.0

/// The exchange that a body belongs to, for what its errors tell.
struct ExchangeDetails {
    let record: CallRecord
    let head: ResponseHead

    /// The error with the request as it was sent and the head of the response.
    func complete(_ error: ClientError) -> ClientError {
        let full = error.completed(
            sent: record.lastSent, response: head, attempts: record.sends,
            history: record.history)
        return error.request == nil ? record.placed(full) : full
    }
}

extension Response {
    /// An error of the body's reader, with the request as it was sent and the head of this response.
    package func completing(_ error: any Error) -> any Error {
        guard let record, let error = error as? ClientError else { return error }
        return ExchangeDetails(record: record, head: head).complete(error)
    }
}
