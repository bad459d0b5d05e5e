import Foundation
import TurnpikeCore

extension Fallback {
    init(settings: Settings) {
        let text = settings.string("text")
        let status = settings.int("status", default: 200, in: 200...599)
        var content = Data((text ?? "").utf8)
        if let base64 = settings.string("base64") {
            if let data = Data(base64Encoded: base64), text == nil {
                content = data
            } else {
                settings.issue(
                    at: "base64",
                    text == nil ? "is not valid Base64" : "cannot stand beside \"text\"")
            }
        }
        self.init(status: HTTPStatus(status), headers: settings.headers("headers"), body: content)
    }
}
