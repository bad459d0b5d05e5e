// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Where the chunks of a body come from.
///
/// Most bodies are small and came with their heads. Those of memory and of exchanges are therefore
/// taken without suspending: each wait costs four async frames (`bench instructions`).
enum ResponseBodyContent {
    /// Bytes that the storage holds, and what belongs to them.
    case memory(trailers: HTTPHeaders, encodedBytes: Int64?)
    case exchange(Exchange)
    case source(any ResponseBodySource)

    var arrival: ResponseBodyArrival {
        switch self {
        case .memory: .complete
        case .exchange(let exchange): exchange.arrival
        case .source(let source): source.arrival
        }
    }

    /// Whether no pull can fail any more: all is here, and nothing decodes, changes or checks it.
    var isSettled: Bool {
        if case .source = self { return false }
        return arrival == .complete
    }

    var trailers: HTTPHeaders {
        switch self {
        case .memory(let trailers, _): trailers
        case .exchange(let exchange): exchange.trailers
        case .source(let source): source.trailers
        }
    }

    var encodedBytes: Int64? {
        switch self {
        case .memory(_, let encodedBytes): encodedBytes
        case .exchange: nil
        case .source(let source): source.encodedBytes
        }
    }

    /// The body that a wrapper takes its chunks from.
    var wrapped: ResponseBody? {
        if case .source(let source) = self { return (source as? any WrappingSource)?.body }
        return nil
    }

    func cancel(_ reason: CancelReason) {
        switch self {
        case .memory: break
        case .exchange(let exchange): exchange.cancel(reason)
        case .source(let source): source.cancel(reason)
        }
    }
}

/// What can be had of a body without a wait.
enum ReadyChunk {
    case chunk(Data)
    /// There is no more.
    case end
    /// It has to be waited for.
    case notYet
}
