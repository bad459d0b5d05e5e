// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeCore

@testable import TurnpikeTesting

@Suite("Redaction of JSON")
struct JSONRedactionTests {
    private static func recorded(_ json: String) -> String {
        let redactor = ExchangeRedactor(.standard)
        let headers: HTTPHeaders = ["Content-Type": "application/json"]
        let shown = redactor.content(Data(json.utf8), headers: headers)
        return String(decoding: shown.content, as: UTF8.self)
    }

    @Test(
        "A name is compared after its escapes are resolved",
        arguments: [
            #"{"n\u0061me":"password","v\u0061lue":"hunter2"}"#,
            #"{"k\u0065y":"p\u0061ssword","value":"hunter2"}"#, #"{"p\u0061ssword":"hunter2"}"#,
            #"{"a":"{\"n\\u0061me\":\"password\",\"value\":\"hunter2\"}"}"#,
        ])
    func names(json: String) {
        #expect(!Self.recorded(json).contains("hunter2"))
        let shown = Redaction.standard.content(
            Data(json.utf8), type: MediaType(parsing: "application/json"))
        #expect(!shown.contains("hunter2"))
    }

    @Test("A short number is hidden too if its name says that it is a secret")
    func numbers() {
        #expect(
            Self.recorded(#"{"cvv":123,"pin":[42],"otp":7}"#) == #"{"cvv":0,"pin":[0],"otp":0}"#)
        let kept = #"{"code":404,"total_tokens":12,"error":{"code":"not_found"}}"#
        #expect(Self.recorded(kept) == kept)
        #expect(Self.recorded(#"{"code":471100}"#) == #"{"code":0}"#)
    }

    @Test(
        "A field with a secret is not recorded as a member, nor its value elsewhere",
        arguments: ["Cookie", "Set-Cookie", "X-Auth", "X-Session", "db_pass", "user_pwd"])
    func fields(name: String) {
        #expect(
            Self.recorded(#"{"\#(name)":"session=Pl4ntedS3cret","name":"Ada"}"#)
                == #"{"\#(name)":"REDACTED","name":"Ada"}"#)
    }
}
