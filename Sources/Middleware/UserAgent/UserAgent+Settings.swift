import TurnpikeCore

extension UserAgent {
    init(settings: Settings) {
        let value = settings.string("value")
        var trial = HTTPHeaders()
        if let value { trial.append(.userAgent, value) }
        if let defect = trial.defect { settings.issue(at: "value", defect.description) }
        self.init(value)
    }
}
