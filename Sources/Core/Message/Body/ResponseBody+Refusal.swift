// SPDX-License-Identifier: Apache-2.0

extension ResponseBody {
    /// Refuses content of a response that must not have any (RFC 9110 §6.4.1, §15.3.6): its reader
    /// gets an error with the first byte of it, and the transfer ends.
    func refuseContent(of status: HTTPStatus, to method: HTTPMethod) {
        onChunk { _ in
            let what =
                method == .head
                ? "the response to a HEAD request" : "a response with status \(status.code)"
            throw ClientError(
                .protocol, "\(what) has content, which HTTP does not allow",
                transfer: TransferState(.receiving))
        }
    }
}
