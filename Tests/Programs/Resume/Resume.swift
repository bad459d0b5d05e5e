// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCurl
import TurnpikeDownloads
import TurnpikeResumableUploads

/// Downloads a file by processes that are killed at random moments, and looks whether it is right
/// in the end.
///
/// `turnpike-resume [--kills N] [--seed N] [--mib N]`
///
/// With `--upload URL FILE PROTOCOL` it uploads a file, for a test that kills it.
///
/// Each process goes on from what the one before it has left. It fails where a file is wrong, and
/// where a process fails that nobody killed.
@main
enum Resume {
    static func main() async {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if arguments.first == "--download", arguments.count == 3 {
                return try await download(arguments[1], to: URL(filePath: arguments[2]))
            }
            if arguments.first == "--upload", arguments.count == 4,
                let dialect = ResumableUploadOptions.Dialect(rawValue: arguments[3])
            {
                return try await upload(URL(filePath: arguments[2]), to: arguments[1], dialect)
            }
            print(try await ResumeRun(ResumeOptions(arguments)).run())
        } catch {
            FileHandle.standardError.write(Data("turnpike-resume: \(error)\n".utf8))
            exit(1)
        }
    }

    /// What a process does that may be killed.
    private static func download(_ url: String, to file: URL) async throws {
        let client = Client(stack: [.validate(), .retry(), .idleTimeout(), .limits()])
        try await client.get(Target(url)).download(
            to: .file(file), options: DownloadOptions(keepsPartialFile: true))
    }

    private static func upload(
        _ file: URL, to url: String, _ dialect: ResumableUploadOptions.Dialect
    ) async throws {
        let client = Client(transport: try CurlTransport(), stack: [.validate(), .retry()])
        try await client.post(Target(url), body: .file(file)).resumable(
            options: ResumableUploadOptions(dialect: dialect))
    }
}

struct ResumeOptions {
    private(set) var kills = 50
    private(set) var seed: UInt64 = 1
    private(set) var mib = 64

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            switch (option, rest.popFirst().flatMap { UInt64($0) }) {
            case ("--kills", let kills?): self.kills = Int(kills)
            case ("--seed", let seed?): self.seed = seed
            case ("--mib", let mib?) where (1...1024).contains(mib): self.mib = Int(mib)
            default:
                throw ResumeFailure("usage: turnpike-resume [--kills N] [--seed N] [--mib N]")
            }
        }
    }
}

struct ResumeFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
