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
                guard let path else { return HSTSStore() }
                let stores = settings.common("hstsFiles") { FileKeepers<HSTSStore>() }
                return try stores.keeper(at: path) { try HSTSStore(file: path) }
            })
    }
}
