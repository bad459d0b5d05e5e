// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeCore
import TurnpikeInspection

@Suite("Traces as JSON, HAR and OTLP")
struct TraceFilesTests {
    // MARK: JSON

    @Test("JSON has the documented members, and leaves out what is not known")
    func json() throws {
        let json = SampleTraces.retried().json()
        #expect(json["id"] == "5f0c2a1b-1")
        #expect(json["date"] == "2026-11-23T16:40:00.250Z")
        #expect(json["isComplete"] == true && json["omitted"] == 0)
        let spans = try #require(json["spans"]?.array)
        #expect(spans.count == SampleTraces.retried().spans.count)
        #expect(spans[0]["parent"] == nil && spans[1]["parent"] == 0)
        #expect(spans[2]["kind"] == "attempt" && spans[2]["attempt"] == 1)
        #expect(spans[2]["status"] == 503 && spans[2]["start"] == 0.0001)
        #expect(spans[0]["own"]?.double == 0.0001)
        let exchange = try #require(spans[3]["exchange"])
        #expect(exchange["method"] == "GET" && exchange["protocolVersion"] == "2")
        #expect(exchange["requestHeaders"]?[0] == ["Accept", "application/json"])
        #expect(exchange["isConnectionReused"] == false)
        let open = SampleTraces.underWay().json()
        #expect(open["spans"]?[0]?["duration"] == nil && open["spans"]?[0]?["outcome"] == nil)
        #expect(open["spans"]?[1]?["exchange"]?["chunks"]?[0]?["count"] == 9)
        let failed = SampleTraces.hedged().json()["spans"]?[4]
        #expect(failed?["outcome"] == "failed" && failed?["error"] == "connectionLost")
        // It can be read again.
        for trace in SampleTraces.all {
            #expect(try JSONValue(parsing: trace.json().data()) == trace.json())
        }
    }

    // MARK: HAR

    @Test("A HAR file is valid, and has an entry for each exchange, in order")
    func har() throws {
        let har = SampleTraces.all.har()
        #expect(HARSchema.faults(of: har) == [])
        let entries = try #require(har["log"]?["entries"]?.array)
        #expect(entries.count == 6)
        let starts = entries.compactMap { $0["startedDateTime"]?.string }
        #expect(starts == starts.sorted())
        #expect(har["log"]?["pages"]?.array?.count == 4)
        #expect(HARSchema.faults(of: [Trace]().har()) == [])
    }

    @Test("Timings are those of the phases, -1 where unknown, and add up to the time")
    func timings() throws {
        let entries = try #require([SampleTraces.retried()].har()["log"]?["entries"]?.array)
        func first(_ name: String) -> Double? { entries[0]["timings"]?[name]?.double }
        #expect(first("blocked") == 1 && first("dns") == 12 && first("ssl") == 25)
        // HAR counts TLS into the connection.
        #expect(first("connect") == 45 && first("send") == 0.3)
        #expect(first("wait") == 45 && first("receive") == 0.5)
        #expect(entries[0]["time"]?.double == 103.8)
        let second = try #require(entries[1]["timings"])
        #expect(second["dns"] == -1 && second["connect"] == -1 && second["ssl"] == -1)
        #expect(entries[1]["time"]?.double == 106.7 && second["wait"]?.double == 60.1)
    }

    @Test("An exchange without a response has status 0 and its reason")
    func failedExchange() throws {
        let entries = try #require([SampleTraces.hedged()].har()["log"]?["entries"]?.array)
        #expect(entries[0]["response"]?["status"] == 0)
        #expect(
            entries[0]["response"]?["_error"]
                == "connectionLost: the server closed the connection")
        #expect(entries[0]["_attempt"] == 1 && entries[1]["_attempt"] == 2)
        #expect(entries[1]["response"]?["content"]?["size"] == 20_480)
        #expect(entries[1]["response"]?["bodySize"] == 10_240)
        #expect(entries[1]["serverIPAddress"] == "192.0.2.7")
    }

    // MARK: OTLP

    private func spans(_ trace: Trace) throws -> [JSONValue] {
        let file = [trace].otlp(service: "shop")
        let scope = file["resourceSpans"]?[0]?["scopeSpans"]?[0]
        return try #require(scope?["spans"]?.array)
    }

    private func attribute(_ name: String, of span: JSONValue) -> JSONValue? {
        span["attributes"]?.array?.first { $0["key"]?.string == name }?["value"]
    }

    @Test("OTLP has hexadecimal identifiers, times as text, and kinds as numbers")
    func otlp() throws {
        let file = [SampleTraces.retried()].otlp(service: "shop")
        let resource = file["resourceSpans"]?[0]?["resource"]
        #expect(resource?["attributes"]?[0]?["value"]?["stringValue"] == "shop")
        let spans = try spans(SampleTraces.retried())
        #expect(spans.count == SampleTraces.retried().spans.count)
        for span in spans {
            let trace = span["traceId"]?.string ?? ""
            let id = span["spanId"]?.string ?? ""
            #expect(trace.wholeMatch(of: #/[0-9a-f]{32}/#) != nil)
            #expect(id.wholeMatch(of: #/[0-9a-f]{16}/#) != nil)
            let start = Int64(span["startTimeUnixNano"]?.string ?? "") ?? 0
            let end = Int64(span["endTimeUnixNano"]?.string ?? "") ?? 0
            #expect(start <= end && start >= 1_795_452_000_250_000_000)
        }
        #expect(Set(spans.compactMap { $0["traceId"]?.string }).count == 1)
        #expect(Set(spans.compactMap { $0["spanId"]?.string }).count == spans.count)
        #expect(spans[0]["parentSpanId"] == nil)
        #expect(spans[1]["parentSpanId"] == spans[0]["spanId"])
        #expect(spans[0]["kind"] == 1 && spans[3]["kind"] == 3)
        #expect(spans[0]["startTimeUnixNano"] == "1795452000250000000")
        #expect(spans[0]["endTimeUnixNano"] == "1795452000562000000")
    }

    @Test("An exchange has the attributes of the semantic conventions")
    func attributes() throws {
        let spans = try spans(SampleTraces.retried())
        let second = try #require(spans.last { $0["kind"] == 3 })
        #expect(second["name"] == "GET")
        #expect(attribute("http.request.method", of: second) == ["stringValue": "GET"])
        #expect(
            attribute("url.full", of: second)?["stringValue"]
                == "https://api.example.com/users/1?page=2&key=[redacted]")
        #expect(attribute("server.address", of: second) == ["stringValue": "api.example.com"])
        #expect(attribute("server.port", of: second) == ["intValue": "443"])
        #expect(attribute("http.response.status_code", of: second) == ["intValue": "200"])
        #expect(attribute("http.request.resend_count", of: second) == ["intValue": "1"])
        #expect(attribute("network.protocol.version", of: second) == ["stringValue": "2"])
        #expect(attribute("error.type", of: second) == nil)
        let first = try #require(spans.first { $0["kind"] == 3 })
        #expect(attribute("error.type", of: first) == ["stringValue": "503"])
        #expect(attribute("http.request.resend_count", of: first) == nil)
        #expect(first["status"] == ["code": 2])
        let lost = try #require(try self.spans(SampleTraces.hedged()).first { $0["kind"] == 3 })
        #expect(attribute("error.type", of: lost) == ["stringValue": "connectionLost"])
        #expect(lost["status"]?["message"]?.string?.contains("closed") == true)
    }

    @Test("Identifiers are the same each time, and differ between calls")
    func identifiers() throws {
        let first = try spans(SampleTraces.retried())
        #expect(try spans(SampleTraces.retried()) == first)
        #expect(try spans(SampleTraces.hedged())[0]["traceId"] != first[0]["traceId"])
    }

    @Test("A trace continues the traceparent of its requests")
    func traceparent() throws {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        func traced(_ parents: [String]) throws -> [JSONValue] {
            var builder = TraceBuilder()
            let call = builder.add(.call, "GET /", in: nil, 0, for: 10)
            for parent in parents {
                let fields: HTTPHeaders = [
                    "traceparent": "00-\(trace)-\(parent)-01", "tracestate": "a=b",
                ]
                builder.add(
                    .exchange, "GET /", in: call, 1, for: 2, .returned(.ok),
                    exchange: SampleTraces.exchange(
                        status: 200, bytes: 1, isReused: nil, headers: fields))
            }
            return try spans(builder.trace())
        }
        let own = try traced(["00f067aa0ba902b7", "00f067aa0ba902b8"])
        #expect(own.allSatisfy { $0["traceId"]?.string == trace && $0["traceState"] == "a=b" })
        #expect(own[1]["spanId"] == "00f067aa0ba902b7" && own[2]["spanId"] == "00f067aa0ba902b8")
        #expect(own[1]["parentSpanId"] == own[0]["spanId"] && own[0]["parentSpanId"] == nil)
        // Set once for all: the call lies inside of what it names.
        let shared = try traced(["00f067aa0ba902b7", "00f067aa0ba902b7"])
        #expect(shared[0]["parentSpanId"] == "00f067aa0ba902b7")
        #expect(Set(shared.compactMap { $0["spanId"]?.string }).count == 3)
        let invalid = try traced(["0000000000000000"])
        #expect(invalid.allSatisfy { $0["traceId"]?.string != trace })
    }

    @Test("A span under way ends at the last time that is known")
    func underWay() throws {
        let spans = try spans(SampleTraces.underWay())
        #expect(attribute("turnpike.under_way", of: spans[0]) == ["boolValue": true])
        #expect(spans[0]["endTimeUnixNano"] == "1795452000540000000")
    }
}
