extension Request {
    /// Names the body's media type where the header fields name none, and its boundary where they
    /// name a form of parts without it, or with another one: nobody could take the parts apart.
    package mutating func describeBody() {
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
