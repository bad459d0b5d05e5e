import TurnpikeCore

extension AttemptTimeout {
    init(settings: Settings) { self.init(settings.seconds("seconds", default: .seconds(10))) }
}
