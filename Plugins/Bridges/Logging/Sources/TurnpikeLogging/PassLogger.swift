// SPDX-License-Identifier: Apache-2.0

import Logging
import TurnpikeEssentials

/// The logger of one pass: what the task of its caller knew when the pass began.
///
/// It has three words, so that the plan stores it without an allocation.
struct PassLogger: RequestLogger {
    let logger: Logger
    /// What the metadata provider returned.
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

    /// Whether the handler does not say by itself what the provider returned.
    ///
    /// A handler that kept its provider asks it again in the current task. Of a multiplexer, each
    /// child does, so what is passed to it reaches children whose own providers say nothing of it.
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
