// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeCore
import TurnpikeDownloads

struct ExecExchange: Sendable {
    let request: ExecRequest
    let reading: ExecReading

    func run(_ index: Int, _ client: Client) async -> ExecResult {
        let observed = ExecObservation()
        let call = request.call(index, client)
        do {
            let value = try await read(call, observed)
            return ExecResult(observed, value: value, error: nil)
        } catch {
            return ExecResult(observed, value: nil, error: error)
        }
    }

    private func read(_ call: Call, _ observed: ExecObservation) async throws -> JSONValue? {
        if let download = reading.download {
            let file = try await call.through(ObservingGate(observed: observed))
                .download(to: download.destination, options: download.options)
            observed.wrote(file)
            return nil
        }
        switch reading.kind {
        case .events:
            let events = call.through(ObservingGate(observed: observed))
                .events(reconnects: reading.reconnects, lastEventID: reading.lastEventID)
            return try await collect(events, observed) { event in
                [
                    "id": .string(event.id), "event": .string(event.type),
                    "data": .string(event.data),
                    "retry": event.retry.map { .number(JSONNumber(Int($0 / .milliseconds(1)))) }
                        ?? .null,
                ]
            }
        case .data: return try await serialize(call, DataSerializer(), observed) { _ in nil }
        case .string: return try await serialize(call, StringSerializer(), observed) { .string($0) }
        case .json: return try await serialize(call, JSONSerializer(), observed) { $0 }
        case .propertyList:
            // Empty content is no property list; in JSON, the value is null.
            let values = PropertyListSerializer().map(\.json).valueForEmpty(.null)
            return try await serialize(call, values, observed) { $0 }
        case .auto: return try await serialize(call, AutoSerializer(), observed) { Self.json($0) }
        case .none: return try await serialize(call, NoneSerializer(), observed) { nil }
        case .lines:
            return try await stream(call, observed) { body, maxBytes in
                try await collect(body.lines(maxBytes: maxBytes), observed) { .string($0) }
            }
        case .jsonLines:
            return try await stream(call, observed) { body, maxBytes in
                try await collect(body.jsonLines(maxBytes: maxBytes), observed) { $0 }
            }
        }
    }

    private func serialize<Serializer: ResponseSerializer>(
        _ call: Call, _ serializer: Serializer, _ observed: ExecObservation,
        _ json: (Serializer.Output) -> JSONValue?
    ) async throws -> JSONValue? {
        json(try await call.serialize(with: Observing(serializer, observed)))
    }

    private func stream(
        _ call: Call, _ observed: ExecObservation,
        _ read: (ResponseBody, Int) async throws -> JSONValue?
    ) async throws -> JSONValue? {
        let (body, maxBytes) = try await call.serialize(with: Observing(BodySerializer(), observed))
        return try await read(body, maxBytes)
    }

    private func collect<Items: AsyncSequence>(
        _ items: Items, _ observed: ExecObservation, _ json: (Items.Element) -> JSONValue
    ) async throws -> JSONValue? {
        observed.begin()
        if reading.maxItems == 0 { return .array([]) }
        for try await item in items where observed.add(json(item)) == reading.maxItems {
            break
        }
        return .array(observed.items)
    }

    private static func json(_ value: any Sendable) -> JSONValue {
        switch value {
        case let value as JSONValue: value
        case let value as PropertyListValue: value.json
        case let value as String: .string(value)
        default: .null
        }
    }
}

/// Records the response before another serializer reads it.
private struct Observing<Inner: ResponseSerializer>: ResponseSerializer {
    let inner: Inner
    let observed: ExecObservation

    init(_ inner: Inner, _ observed: ExecObservation) {
        self.inner = inner
        self.observed = observed
    }

    func accept(in table: SerializerTable) -> [MediaType] { inner.accept(in: table) }

    func collectedBytes(in table: SerializerTable) -> Int { inner.collectedBytes(in: table) }

    func serialize(_ response: Response, context: SerializationContext) async throws -> Inner.Output
    {
        observed.see(response)
        return try await inner.serialize(response, context: context)
    }
}

private struct BodySerializer: ResponseSerializer {
    func serialize(
        _ response: Response, context: SerializationContext
    ) async throws -> (ResponseBody, Int) { (response.body, context.maxLineBytes) }
}

/// Returns after the head, and drops the body without a read.
private struct NoneSerializer: ResponseSerializer {
    func serialize(_ response: Response, context: SerializationContext) async throws {
        response.body.cancel(.drop)
    }
}

private struct ObservingGate: Interceptor {
    let observed: ExecObservation

    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        // A response that a gate created does not belong to a call yet.
        let response = try await next(request).adopted(by: context)
        observed.see(response)
        return response
    }
}
