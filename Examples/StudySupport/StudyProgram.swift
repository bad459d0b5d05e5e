// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The program of a study: its name and its options.
///
/// All studies have `--seed N`, `--svg FILE` and `--json`.
public struct StudyProgram: Sendable {
    let name: String
    let usage: String
    let maxSeeds: Int
    let flags: Set<String>

    /// Creates a program.
    /// - Parameters:
    ///   - name: The name of the command.
    ///   - usage: All options of the command, for the usage message.
    ///   - maxSeeds: The largest value of `--seeds`; 0 if there is no such option.
    ///   - flags: Further options without a value.
    public init(_ name: String, _ usage: String, maxSeeds: Int = 0, flags: Set<String> = []) {
        self.name = name
        self.usage = usage
        self.maxSeeds = maxSeeds
        self.flags = flags
    }

    /// Runs a study with the options of the command line.
    ///
    /// An error ends the process with status 1.
    public func run(_ study: (StudyOptions) async throws -> Void) async {
        do {
            try await study(StudyOptions(CommandLine.arguments.dropFirst(), of: self))
        } catch {
            FileHandle.standardError.write(Data("\(name): \(error)\n".utf8))
            exit(1)
        }
    }
}
