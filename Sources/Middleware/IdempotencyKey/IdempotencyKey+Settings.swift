import TurnpikeCore

extension IdempotencyKey {
    init(settings: Settings) {
        self.init(header: settings.headerName("header", default: .idempotencyKey))
    }
}
