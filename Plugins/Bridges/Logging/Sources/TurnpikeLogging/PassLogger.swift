// SPDX-License-Identifier: Apache-2.0

import Logging
import TurnpikeEssentials

/// The logger of one request, with the metadata of the caller's task at the begin of the request.
///
/// The size is three words, because the plan must store the logger without an allocation.
struct PassLogger: RequestLogger {
    let logger: Logger
    let provided: Logger.Metadata
    let rules: EventRules

    func log(_ event: CallEvent) {
        guard let level = rules.level(event) else { return }
        logger.log(
            level: level, Self.message(of: event),
            metadata: needsProvided
                ? provided.merging(rules.metadata(of: event)) { _, own in own }
                : rules.metadata(of: event))
    }

    /// Whether the events must carry the provider's metadata.
    ///
    /// A handler that keeps its provider, and each child of a multiplexer, calls the provider again
    /// in the current task. Metadata of an event also reaches children whose own providers do not
    /// return the metadata.
    private var needsProvided: Bool {
        if provided.isEmpty { return false }
        guard let provider = logger.metadataProvider else { return true }
        return provider.get() != provided
    }

    private static func message(of event: CallEvent) -> Logger.Message {
        switch event.kind {
        case .began: "HTTP request started"
        case .sent: "HTTP request sent"
        case .received: "HTTP response received"
        case .retrying: "HTTP request will be retried"
        case .redirecting: "HTTP redirect will be followed"
        case .note: "HTTP client note"
        case .responded: "HTTP response returned"
        case .failed: event.isCancellation ? "HTTP request cancelled" : "HTTP request failed"
        case .bodyEnded(let end):
            switch end.reason {
            case .finished, .dropped: "HTTP request completed"
            case .cancelled: "HTTP request cancelled"
            case .failed: "HTTP request failed"
            }
        }
    }
}
