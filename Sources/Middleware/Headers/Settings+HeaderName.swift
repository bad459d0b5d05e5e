// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

extension Settings {
    /// The name of a header field.
    func headerName(_ key: String, default fallback: HTTPHeaders.Name) -> HTTPHeaders.Name {
        string(key).flatMap { headerName($0, at: key) } ?? fallback
    }

    /// The name of a header field, or nil if the key is missing or null.
    func headerName(_ key: String) -> HTTPHeaders.Name? {
        string(key).flatMap { headerName($0, at: key) }
    }

    /// A list of names of header fields; empty if the key is missing or null.
    public func headerNames(_ key: String) -> [HTTPHeaders.Name] {
        strings(key).enumerated().compactMap { headerName($0.element, at: "\(key)[\($0.offset)]") }
    }

    private func headerName(_ text: String, at key: String) -> HTTPHeaders.Name? {
        let name = HTTPHeaders.Name(text)
        guard let defect = Self.defect(name, "") else { return name }
        issue(at: key, defect)
        return nil
    }

    /// Why a field cannot be sent, or nil; the text never holds the value.
    static func defect(_ name: HTTPHeaders.Name, _ value: String) -> String? {
        var trial = HTTPHeaders()
        trial.append(name, value)
        return trial.defect?.description
    }
}
