// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
public import TurnpikeMiddleware

extension Registry {
    mutating func registerCookies() {
        register(
            gate: "cookies",
            description: PartDescription(
                """
                Sends cookies, and stores the cookies that servers set. Place the gate inside \
                `redirect`.
                """,
                settings: [
                    "file": """
                    The file that stores the cookies. Without a file, the cookies are only in \
                    memory.
                    """,
                    "publicSuffixes": """
                    A file with the public suffix list. Without the list, a cookie goes only to \
                    the host that set it.
                    """,
                ],
                example: #"{"use": "cookies", "file": "/var/lib/app/cookies"}"#)
        ) { try Cookies(settings: $0) }
        register(
            gate: "hsts",
            description: PartDescription(
                """
                Uses TLS for hosts that require TLS (RFC 6797). Place the gate inside `redirect`, \
                outside `cookies` and credentials.
                """,
                settings: [
                    "file": """
                    The file that stores the hosts. Without a file, the hosts are only in memory.
                    """
                ],
                example: #"{"use": "hsts", "file": "/var/lib/app/hsts"}"#)
        ) { try HSTS(settings: $0) }
    }
}

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
        let jar = try settings.reloadable(
            "jar", for: path, updating: { $0.apply(suffixes) },
            {
                guard let path else { return CookieJar(suffixes: suffixes) }
                let jars = settings.common("cookieFiles") { FileKeepers<CookieJar>() }
                return try jars.keeper(at: path) {
                    let jar = try CookieJar(file: path, suffixes: suffixes)
                    // The list of suffixes is applied again, because the file may come from a
                    // process with another list.
                    jar.apply(suffixes)
                    return jar
                }
            })
        self.init(jar)
    }
}

extension HSTS {
    init(settings: Settings) throws {
        let path = settings.string("file")
        if settings.isDryRun {
            self.init()
            return
        }
        self.init(
            try settings.reloadable("hosts", for: path) {
                guard let path else { return HSTSStore() }
                let stores = settings.common("hstsFiles") { FileKeepers<HSTSStore>() }
                return try stores.keeper(at: path) { try HSTSStore(file: path) }
            })
    }
}

extension Settings {
    /// Returns the origins of a credential: the list under `origins`, or the origin of the client.
    ///
    /// A reload does not change the origin of the first request.
    public func keptOrigins() -> CredentialOrigins {
        listedOrigins() ?? reloadable("scope", for: true) { CredentialOrigins.sharedOwn() }
    }

    // Returns the origins that receive fields with secrets. Without the setting, the result is nil,
    // and only the origin where a call begins receives fields with secrets.
    func secretOrigins() -> CredentialOrigins? {
        value("origins") == nil ? nil : listedOrigins() ?? .own
    }

    private func listedOrigins() -> CredentialOrigins? {
        guard let texts = optionalStrings("origins") else { return nil }
        for (index, text) in texts.enumerated() where !CredentialOrigins.isOrigin(text) {
            issue(at: "origins[\(index)]", "expected a scheme, host and port, and nothing else")
        }
        if texts.isEmpty {
            issue(at: "origins", "is empty; leave it out to use the client's own origin")
        }
        return CredentialOrigins(parsing: texts)
    }
}
