// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

extension Trace {
    /// Returns the trace as a JSON object.
    ///
    /// | member | is |
    /// |---|---|
    /// | `id` | the call's identifier, as in logs |
    /// | `date` | when the call began, in UTC (RFC 3339) |
    /// | `isComplete` | whether the call has ended |
    /// | `omitted` | how many spans were left out |
    /// | `spans` | the spans in the order in which they began |
    ///
    /// Each span has:
    ///
    /// | member | is |
    /// |---|---|
    /// | `id`, `parent` | its position in `spans`, and that of the span around it |
    /// | `kind` | `call`, `gate`, `attempt`, `wait`, `exchange`, `phase` or `body` |
    /// | `name` | a name for people |
    /// | `attempt` | the number of an attempt |
    /// | `start`, `duration`, `own` | in seconds; `start` from the beginning of the call, `own` is the time in which nothing inside was under way |
    /// | `outcome` | `returned`, `failed`, `cancelled`, `dropped`, or missing while the span is under way |
    /// | `status` | the status that it returned |
    /// | `error`, `message` | the error's code and description |
    /// | `exchange` | of an exchange: `method`, `url`, `requestHeaders`, `requestBodyBytes`, `status`, `responseHeaders`, `protocolVersion`, `peerAddress`, `isConnectionReused`, `bytesSent`, `bytesReceived`, `encodedBodyBytes` and `chunks` with `start`, `end`, `bytes` and `count` |
    ///
    /// Header fields are a list of `[name, value]`, in order. Members with unknown values are left
    /// out. The JSON contains no secrets, because secrets are removed before a trace is stored.
    /// - Returns: The object.
    public func json() -> JSONValue {
        let tree = TraceTree(self)
        var own = [Duration](repeating: .zero, count: spans.count)
        for row in tree.rows { own[row.span.id] = row.ownTime }
        return [
            "id": .string("\(id)"), "date": .string(HARFormat.date(date)),
            "isComplete": .bool(isComplete), "omitted": .number(JSONNumber(omitted)),
            "spans": .array(spans.map { .object($0.json(own: own[$0.id])) }),
        ]
    }
}

extension TraceSpan {
    fileprivate func json(own: Duration) -> JSONObject {
        var object: JSONObject = ["id": .number(JSONNumber(id))]
        object["parent"] = parent.map { .number(JSONNumber($0)) }
        object["kind"] = .string(kindName)
        object["name"] = .string(name)
        if case .attempt(let number) = kind { object["attempt"] = .number(JSONNumber(number)) }
        object["start"] = start.jsonSeconds
        object["duration"] = duration?.jsonSeconds
        if duration != nil { object["own"] = own.jsonSeconds }
        switch outcome {
        case .returned(let status):
            object["outcome"] = "returned"
            object["status"] = status.map { .number(JSONNumber($0.code)) }
        case .failed(let label, let description):
            object["outcome"] = "failed"
            object["error"] = .string(label)
            object["message"] = .string(description)
        case .cancelled: object["outcome"] = "cancelled"
        case .dropped: object["outcome"] = "dropped"
        case nil: break
        }
        object["exchange"] = exchange.map { .object($0.json) }
        return object
    }
}

extension TraceExchange {
    fileprivate var json: JSONObject {
        var object: JSONObject = [
            "method": .string(method.rawValue), "url": .string(url),
            "requestHeaders": Self.json(requestHeaders),
        ]
        object["requestBodyBytes"] = requestBodyBytes.map { .number(JSONNumber($0)) }
        object["status"] = status.map { .number(JSONNumber($0.code)) }
        object["responseHeaders"] = responseHeaders.map(Self.json)
        object["protocolVersion"] = protocolVersion.map(JSONValue.string)
        object["peerAddress"] = peerAddress.map(JSONValue.string)
        object["isConnectionReused"] = isConnectionReused.map(JSONValue.bool)
        object["bytesSent"] = .number(JSONNumber(bytesSent))
        object["bytesReceived"] = .number(JSONNumber(bytesReceived))
        object["encodedBodyBytes"] = encodedBodyBytes.map { .number(JSONNumber($0)) }
        let chunks = chunks.map { chunk in
            JSONValue.object([
                "start": chunk.start.jsonSeconds, "end": chunk.end.jsonSeconds,
                "bytes": .number(JSONNumber(chunk.bytes)),
                "count": .number(JSONNumber(chunk.count)),
            ])
        }
        if !chunks.isEmpty { object["chunks"] = .array(chunks) }
        return object
    }

    private static func json(_ headers: HTTPHeaders) -> JSONValue {
        .array(headers.map { [.string($0.name.rawValue), .string($0.value)] })
    }
}

extension Duration {
    fileprivate var jsonSeconds: JSONValue {
        JSONNumber((self / .nanoseconds(1)).rounded() / 1e9).map(JSONValue.number) ?? 0
    }
}
