import Foundation
import TurnpikeCore

extension Cookies {
    init(settings: Settings) throws {
        let path = settings.string("file")
        let list = settings.string("publicSuffixes")
        if settings.isDryRun {
            self.init()
            return
        }
        let jar = try settings.kept("jar", for: [path, list]) {
            let suffixes = try list.map { try PublicSuffixes(contentsOf: URL(filePath: $0)) }
            guard let path else { return CookieJar(suffixes: suffixes ?? .standard) }
            return try CookieJar(file: path, suffixes: suffixes ?? .standard)
        }
        self.init(jar)
    }
}
