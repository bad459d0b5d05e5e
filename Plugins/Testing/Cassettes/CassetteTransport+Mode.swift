import Foundation
import TurnpikeCore

extension CassetteTransport {
    /// What a cassette does with a request.
    public enum Mode: String, Sendable, CaseIterable {
        /// Answers from the file alone; what it does not hold fails.
        case replay
        /// Answers from the file, each recorded exchange once, and sends and adds what it does not
        /// hold.
        ///
        /// What another tool has written stays as it is, its secrets too.
        case recordMissing = "record-missing"
        /// Sends all and makes the file anew; the old one stays until the first exchange has ended.
        case record
        /// Sends all and touches no file.
        case pass

        /// The mode that an environment variable names, so that recordings are made anew without
        /// an edit: `CASSETTES=record swift test`.
        /// - Parameters:
        ///   - variable: The variable's name; its values are the raw values.
        ///   - fallback: The mode where the variable is not set, or empty.
        /// - Returns: The mode.
        /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` where the value is no mode.
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
                "\(variable): \"\(Grammar.escaped(name))\" is no mode of a cassette"
                    + NearMiss.hint(for: name, among: allCases.map(\.rawValue)))
        }
    }
}
