import Foundation
import TurnpikeCore

extension Metrics {
    init(settings: Settings) {
        let path = settings.string("to") ?? "stderr"
        self.init(settings.kept("store", for: path) { MetricsStore() }) { text in
            let handle =
                path == "stderr" ? FileHandle.standardError : Self.open(path)
            // At the end of a client nobody is left to be told that its metrics cannot be written.
            try? handle?.write(contentsOf: Data(text.utf8))
        }
    }

    private static func open(_ path: String) -> FileHandle? {
        let url = URL(filePath: path)
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        guard
            FileManager.default.createFile(
                atPath: url.path(), contents: nil, attributes: attributes)
        else {
            return nil
        }
        return try? FileHandle(forWritingTo: url)
    }
}
