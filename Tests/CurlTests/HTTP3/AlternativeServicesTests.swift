// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("AlternativeServices")
struct AlternativeServicesTests {
    private let services = AlternativeServices()
    private let clock = ManualClock()
    private let origin = Origin(scheme: "https", host: "a.example", port: 8443)

    private func note(
        _ value: String?, _ headers: HTTPHeaders = [:], status: HTTPStatus = 200,
        version: String = "2",
        of other: Origin? = nil
    ) {
        var headers = headers
        if let value { headers.append("Alt-Svc", value) }
        let head = ResponseHead(
            status: status, headers: headers, url: URL(filePath: "/"), version: version)
        services.note(head, of: other ?? origin, at: clock.now)
    }

    private var isOffered: Bool { services.offersHTTP3(origin, at: clock.now) }

    @Test(
        "An offer counts only for HTTP/3 at the origin's own host and port",
        arguments: [
            (#"h3=":8443""#, 86_400), (#"h3="a.example:8443"; ma=60"#, 60),
            (#"h3="A.Example:8443";persist=1;ma="7""#, 7), (#"h3=":443""#, nil),
            (#"h3="b.example:8443""#, nil), (#"h2=":8443""#, nil), (#"h3-29=":8443""#, nil),
            (#"h2=":443", h3=":443";ma=1 , h3=":8443"; ma=9"#, 9), (#"h3=":8443"; ma=0"#, 0),
            (#"h3=":8443"; ma=-1"#, nil), (#"h3=":8443"; ma=99999999999999999999"#, 31_536_000),
            ("clear", nil), ("", nil), (#"h3="""#, nil), (#"h3=":8443"#, 86_400), ("h3=;;,", nil),
        ])
    func values(value: String, age: Int64?) {
        #expect(AlternativeServices.age(of: value, origin) == age)
    }

    @Test("An IPv6 address is compared without its brackets")
    func addresses() {
        let origin = Origin(scheme: "https", host: "::1", port: 443)
        #expect(AlternativeServices.age(of: #"h3="[::1]:443"; ma=5"#, origin) == 5)
    }

    @Test("An Age that is no number of seconds changes nothing", arguments: [Int64.min, -1])
    func negativeAge(_ age: Int64) {
        note(#"h3=":8443"; ma=60"#, ["Age": "\(age)"])
        #expect(isOffered)
        clock.advance(by: .seconds(60))
        #expect(!isOffered)
        note(#"h3=":8443"; ma=60"#, ["Age": "\(Int64.max)"])
        #expect(!isOffered)
    }

    @Test("An offer ends with its age, which Age shortens")
    func ages() {
        note(#"h3=":8443"; ma=60"#)
        clock.advance(by: .seconds(59))
        #expect(isOffered)
        clock.advance(by: .seconds(1))
        #expect(!isOffered)
        note(#"h3=":8443"; ma=60"#, ["Age": "50"])
        #expect(isOffered)
        clock.advance(by: .seconds(10))
        #expect(!isOffered)
    }

    @Test("A response without the field changes nothing; another offer or clear ends the offer")
    func replacement() {
        for value in ["clear", #"h2=":443""#] {
            note(#"h3=":8443""#)
            note(nil)
            #expect(isOffered)
            note(value)
            #expect(!isOffered)
        }
    }

    @Test("An offer is for one origin alone")
    func origins() {
        note(#"h3=":8443""#)
        for other in [
            Origin(scheme: "https", host: "b.example", port: 8443),
            Origin(scheme: "https", host: "a.example", port: 443),
        ] {
            #expect(!services.offersHTTP3(other, at: clock.now))
        }
    }

    @Test("After a failure, offers have no effect for five minutes")
    func failures() {
        note(#"h3=":8443""#)
        services.noteFailure(of: origin, at: clock.now)
        #expect(!isOffered)
        clock.advance(by: .seconds(299))
        note(#"h3=":8443""#)
        #expect(!isOffered)
        clock.advance(by: .seconds(1))
        #expect(!isOffered, "the offer came before")
        note(#"h3=":8443""#)
        #expect(isOffered)
    }

    @Test("A 421 by HTTP/3 ends the offer")
    func misdirected() {
        note(#"h3=":8443""#)
        note(nil, status: 421, version: "2")
        #expect(isOffered)
        note(#"h3=":8443""#, status: 421, version: "3")
        #expect(!isOffered)
    }

    @Test("The number of origins is bounded")
    func bound() {
        note(#"h3=":8443""#)
        for index in 0..<3000 {
            let other = Origin(scheme: "https", host: "\(index).example", port: 8443)
            note(#"h3=":8443""#, of: other)
        }
        #expect(!isOffered)
    }
}
