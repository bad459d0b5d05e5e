import TurnpikeCore

extension HSTS {
    init(settings: Settings) throws {
        let path = settings.string("file")
        if settings.isDryRun {
            self.init()
            return
        }
        self.init(
            try settings.kept("hosts", for: path) {
                try path.map { try HSTSStore(file: $0) } ?? HSTSStore()
            })
    }
}
