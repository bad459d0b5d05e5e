// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

extension Trace {
    /// The size of a header field without its text.
    static let bytesOfField = MemoryLayout<HTTPHeaders.Field>.stride

    /// The approximate memory that the trace takes.
    ///
    /// A text that several spans share counts once, because it takes memory once.
    var byteCount: Int {
        var texts: Set<String> = []
        var count = MemoryLayout<Trace>.size + spans.count * MemoryLayout<TraceSpan>.stride
        for span in spans {
            texts.insert(span.name)
            if case .failed(let label, let description) = span.outcome {
                texts.formUnion([label, description])
            }
            if let exchange = span.exchange { count += exchange.byteCount }
        }
        return texts.reduce(count) { $0 + $1.utf8.count }
    }
}

extension TraceExchange {
    fileprivate var byteCount: Int {
        MemoryLayout<TraceExchange>.size + url.utf8.count + Self.size(of: requestHeaders)
            + Self.size(of: responseHeaders ?? [:])
            + chunks.count * MemoryLayout<TraceChunks>.stride
    }

    private static func size(of headers: HTTPHeaders) -> Int {
        headers.reduce(0) {
            $0 + $1.name.rawValue.utf8.count + $1.value.utf8.count + Trace.bytesOfField
        }
    }
}
