// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

// Most bodies are small and arrive together with the head. The reader therefore gets chunks from
// memory and from a `ReadySource` without a suspension, which would cost four async frames.
enum ResponseBodyContent {
    /// The bytes are in ``ResponseBodyStorage``.
    case memory(trailers: HTTPHeaders, encodedBytes: Int64?)
    case ready(any ReadySource)
    // The case is indirect, because each read of the enum would otherwise copy the stored value.
    indirect case source(any ResponseBodySource)

    var arrival: ResponseBodyArrival {
        switch self {
        case .memory: .complete
        case .ready(let source): source.arrival
        case .source(let source): source.arrival
        }
    }

    /// Whether no read can fail: all bytes have arrived, and no code changes or checks the bytes.
    var isSettled: Bool {
        if case .source = self { return false }
        return arrival == .complete
    }

    var trailers: HTTPHeaders {
        switch self {
        case .memory(let trailers, _): trailers
        case .ready(let source): source.trailers
        case .source(let source): source.trailers
        }
    }

    var encodedBytes: Int64? {
        switch self {
        case .memory(_, let encodedBytes): encodedBytes
        case .ready: nil
        case .source(let source): source.encodedBytes
        }
    }

    var wrapped: ResponseBody? {
        if case .source(let source) = self { return (source as? any WrappingSource)?.body }
        return nil
    }

    func cancel(_ reason: CancelReason) {
        switch self {
        case .memory: break
        case .ready(let source): source.cancel(reason)
        case .source(let source): source.cancel(reason)
        }
    }
}

/// A source that returns an arrived chunk without a suspension.
protocol ReadySource: ResponseBodySource, AnyObject {
    func takeReady() throws -> ReadyChunk
}

enum ReadyChunk {
    case chunk(Data)
    case end
    case notYet
}

extension ResponseBodyStorage {
    func collect(upTo maxBytes: Int) async throws -> Data {
        try begin()
        if let length, length > maxBytes { try refuse(maxBytes) }
        var collected: Data?
        while true {
            let chunk: Data?
            switch try takeReady() {
            case .chunk(let ready): chunk = ready
            case .end: chunk = nil
            case .notYet: chunk = try await waitForChunk()
            }
            guard let chunk else { return collected ?? Data() }
            if collected == nil { collected = chunk } else { collected?.append(chunk) }
            if collected?.count ?? 0 > maxBytes { try refuse(maxBytes) }
            if case .memory = content {
                // Content in memory is one chunk.
                try finish()
                return chunk
            }
        }
    }

    private func refuse(_ maxBytes: Int) throws {
        let size = length.map { $0 > maxBytes ? " of \($0) bytes" : "" } ?? ""
        try fail(
            ClientError(
                .tooLarge,
                "the response body\(size) is larger than \(maxBytes) bytes; stream it, or raise the"
                    + " limit"))
    }
}

/// A list whose first element is stored inline, because a second element is rare.
struct Few<Element> {
    private var first: Element?
    private var others: [Element] = []

    mutating func append(_ element: Element) {
        if first == nil { first = element } else { others.append(element) }
    }

    func forEach(_ body: (Element) throws -> Void) rethrows {
        guard let first else { return }
        try body(first)
        for element in others { try body(element) }
    }
}

extension Few: Sendable where Element: Sendable {}
