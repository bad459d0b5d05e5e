// SPDX-License-Identifier: Apache-2.0

extension Request {
    /// Sets `Content-Type` from the body if the header fields do not contain it.
    ///
    /// A multipart type with another boundary, or without one, gets the boundary of the body,
    /// because the parts could not be separated otherwise. The client does this for each request that
    /// it sends; code that converts to another type of request must do it itself.
    public mutating func describeBody() {
        guard let type = body.contentType else { return }
        guard let text = headers[.contentType] else {
            headers[.contentType] = type.description
            return
        }
        guard let boundary = type[parameter: "boundary"], let given = MediaType(parsing: text),
            given.type == "multipart", given[parameter: "boundary"] != boundary
        else { return }
        let parameters = given.parameters.filter { $0.name != "boundary" }
        headers[.contentType] =
            MediaType(
                given.type, given.subtype,
                parameters: parameters + [.init(name: "boundary", value: boundary)]
            ).description
    }
}
