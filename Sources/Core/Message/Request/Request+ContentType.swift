// SPDX-License-Identifier: Apache-2.0

extension Request {
    /// Sets `Content-Type` from the body if the header fields do not contain it.
    ///
    /// If a multipart type has no boundary, or another boundary than the body, it gets the boundary
    /// of the body, so that the parts can be separated. The client does this for each request that
    /// it sends. Code that converts a request to another type must set the field itself.
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
