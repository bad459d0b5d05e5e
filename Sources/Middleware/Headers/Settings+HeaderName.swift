import TurnpikeCore

extension Settings {
    /// The name of a header field.
    func headerName(_ key: String, default fallback: HTTPHeaders.Name) -> HTTPHeaders.Name {
        guard let text = string(key) else { return fallback }
        var trial = HTTPHeaders()
        trial.append(HTTPHeaders.Name(text), "")
        guard let defect = trial.defect else { return HTTPHeaders.Name(text) }
        issue(at: key, defect.description)
        return fallback
    }
}
