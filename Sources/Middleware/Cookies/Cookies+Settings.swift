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
                let jars = settings.common("cookieFiles") { FileKeepers<CookieJar>() }
                return try jars.keeper(at: path) {
                    let jar = try CookieJar(file: path, suffixes: suffixes)
                    // As after a reload: the file may be of a time when there was a list.
                    jar.judge(by: suffixes)
                    return jar
                }
            })
        self.init(jar)
    }
}
