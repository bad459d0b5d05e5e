import TurnpikeCore

extension URLPolicy {
    init(settings: Settings) {
        let schemes = settings.optionalStrings("schemes") ?? ["http", "https"]
        for (index, scheme) in schemes.enumerated() where Origin.defaultPort(scheme) == nil {
            settings.issue(at: "schemes[\(index)]", "\"http\" or \"https\" is wanted")
        }
        func patterns(_ key: String) -> [HostPattern]? {
            settings.optionalStrings(key)?.enumerated().map { index, text in
                let pattern = HostPattern(text)
                if !pattern.isUsable {
                    settings.issue(at: "\(key)[\(index)]", "a host or \"*.domain\" is wanted")
                }
                return pattern
            }
        }
        let resolves = settings.bool("resolve", default: true)
        self.init(
            schemes: Set(schemes), allowedHosts: patterns("allowedHosts"),
            deniedHosts: patterns("deniedHosts") ?? [],
            denyPrivate: settings.choice("denyPrivate", default: PrivateAddresses.never),
            resolver: resolves ? SystemHostResolver() : nil)
    }
}
