// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeTraffic

// The code of the page "Cookbook: operation and tests"; a test compares them.

func makeLoggedClient(_ sink: any LogSink, _ transport: any Transport) -> Client {
    let hidden = Redaction.standard.adding(headers: ["X-Customer"], query: ["email"])
    return Client(
        baseURL: "https://api.example.com/v1/", transport: transport,
        stack: [
            .log(to: sink, format: .json, redaction: hidden),  // a line for each call
            .requestID(), .deadline(), .validate(), .redirect(), .retry(),
            .attemptTimeout(), .idleTimeout(), .limits(),
        ])
}

func makeMeasuredClient(_ store: MetricsStore, _ transport: any Transport) -> Client {
    Client(
        baseURL: "https://api.example.com/v1/", transport: transport,
        stack: [
            .deadline(), .validate(), .redirect(), .retry(budget: RetryBudget(meter: store)),
            .circuitBreaker(meter: store), .concurrencyLimit(meter: store),
            .metrics(store),  // each attempt
            .attemptTimeout(), .idleTimeout(), .limits(),
        ])
}

func metricsPage(_ store: MetricsStore) -> String { store.prometheusText }

func makeTracedClient(_ transport: any Transport) -> Client {
    Client(
        baseURL: "https://api.example.com/v1/", transport: transport,
        stack: [
            .requestID(), .deadline(), .validate(), .redirect(), .retry(), .traceContext(),
            .attemptTimeout(), .idleTimeout(), .limits(),
        ])
}

func handle(_ incoming: HTTPHeaders, _ client: Client) async throws -> JSONValue {
    let parent = incoming[.traceparent].flatMap {
        TraceParent(parsing: $0, tracestate: incoming[.tracestate])
    }
    return try await TraceParent.$current.withValue(parent) {
        var call = client.get("orders/7")
        if let id = incoming["X-Request-ID"] { call = call.header("X-Request-ID", id) }
        return try await call.json()
    }
}
