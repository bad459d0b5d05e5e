// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike

@Suite("Secrets and redaction")
struct SecretsAndRedactionExamples {
    @Test("A request prints no secret")
    func request() {
        let request = Request(
            .get, "https://ada:pa55@api.example.com/?api_key=k1&q=x", headers: ["Cookie": "sid=c1"])
        #expect(!"\(request)".contains("pa55"))
        #expect("\(request)".contains("api_key=REDACTED&q=x"))
    }

    @Test("Names can be added to the hidden ones")
    func more() {
        let rules = Redaction.standard.adding(headers: ["X-Customer"], query: ["email"])
        #expect(
            rules.url("https://a.example/?email=ada@example.com")
                == "https://a.example/?email=REDACTED")
    }
}
