// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

extension CassetteTransport {
    /// Where the responses of a cassette come from, and what it records.
    public enum Mode: String, Sendable, CaseIterable {
        /// Responds only from the file.
        ///
        /// A request without a recording fails.
        case replay
        /// Responds from the file. Each recorded exchange is used once.
        ///
        /// Sends and records other requests.
        ///
        /// Entries that another tool has written stay unchanged, including their secrets.
        case recordMissing = "record-missing"
        /// Sends all requests and records a new file.
        ///
        /// The old file stays until the first exchange has ended.
        case record
        /// Sends all requests and does not use the file.
        case pass

        /// Returns the mode that an environment variable names.
        ///
        /// So recordings can be renewed without changing code: `CASSETTES=record swift test`.
        /// - Parameters:
        ///   - variable: The name of the variable. Its values are the raw values of the modes.
        ///   - fallback: The mode if the variable is not set or empty.
        /// - Returns: The mode.
        /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` if the value is not a mode.
        public static func fromEnvironment(
            _ variable: String = "CASSETTES", default fallback: Mode = .replay
        ) throws -> Mode {
            try named(ProcessInfo.processInfo.environment[variable] ?? "", variable, fallback)
        }

        static func named(_ name: String, _ variable: String, _ fallback: Mode) throws -> Mode {
            if name.isEmpty { return fallback }
            if let mode = Mode(rawValue: name) { return mode }
            throw ClientError(
                .configuration,
                "\(variable): \"\(Grammar.escaped(name))\" is not a mode of a cassette"
                    + NearMiss.hint(for: name, among: allCases.map(\.rawValue)))
        }
    }
}
