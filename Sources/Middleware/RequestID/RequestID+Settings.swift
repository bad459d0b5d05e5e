import TurnpikeCore

extension RequestID {
    init(settings: Settings) {
        self.init(header: settings.headerName("header", default: "X-Request-ID"))
    }
}
