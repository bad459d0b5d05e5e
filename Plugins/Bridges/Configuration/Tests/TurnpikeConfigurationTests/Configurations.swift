// SPDX-License-Identifier: Apache-2.0

import Configuration
import Foundation
import Synchronization
import Turnpike
import TurnpikeConfiguration
import TurnpikeStackFiles

/// Returns a reader of values in memory.
func config(
    _ values: [AbsoluteConfigKey: ConfigValue], reporter: (any AccessReporter)? = nil
) -> ConfigReader {
    ConfigReader(provider: InMemoryProvider(values: values), accessReporter: reporter)
}

/// Returns a reader of a JSON file and of further providers.
func jsonFile(
    _ text: String, over below: any ConfigProvider...
) async throws -> ConfigReader {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    try folder.write(text, to: "config.json")
    let path = ConfigValue(.string(folder.path("config.json")), isSecret: false)
    let file = try await FileProvider<JSONSnapshot>(config: config(["filePath": path]))
    return ConfigReader(providers: [file] + below)
}

/// Returns a list of names as a value.
func names(_ names: String...) -> ConfigValue {
    ConfigValue(.stringArray(names), isSecret: false)
}

extension StackFile {
    init(_ reader: ConfigReader, _ registry: Registry = .standard) throws {
        try self.init(from: reader.snapshot(), registry: registry)
    }
}

/// Records accesses in the form in which they would be logged.
final class Accesses: AccessReporter {
    private let events = Mutex<[String]>([])

    var text: String { events.withLock { $0 }.joined(separator: "\n") }

    func report(_ event: AccessEvent) {
        let results = event.providerResults.map { "\($0.result)" }.joined(separator: " ")
        events.withLock { $0.append("\(event) \(results) \(event.result)") }
    }
}

/// A folder that is removed when the test ends.
final class TemporaryFolder {
    let url: URL

    init() throws {
        url = URL.temporaryDirectory.appending(path: "turnpike-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// The path of a file.
    func path(_ name: String) -> String {
        url.appending(path: name).path(percentEncoded: false)
    }

    /// Replaces a file at once, as tools that distribute configurations do.
    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: url.appending(path: name), options: .atomic)
    }

    /// Creates or replaces a symbolic link at once.
    func link(_ name: String, to target: String) throws {
        let new = path(name + ".new")
        try FileManager.default.createSymbolicLink(atPath: new, withDestinationPath: target)
        if rename(new, path(name)) != 0 { throw POSIXError(.EIO) }
    }
}
