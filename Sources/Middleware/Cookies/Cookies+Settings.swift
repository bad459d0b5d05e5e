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
        let suffixes =
            try list.map { try PublicSuffixes(contentsOf: URL(filePath: $0)) } ?? .standard
        let jar = try settings.kept(
            "jar", for: path, updating: { $0.judge(by: suffixes) },
            {
                guard let path else { return CookieJar(suffixes: suffixes) }
                return try CookieJar(file: path, suffixes: suffixes)
            })
        self.init(jar)
    }
}
