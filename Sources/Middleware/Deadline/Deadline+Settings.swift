import TurnpikeCore

extension Deadline {
    init(settings: Settings) { self.init(settings.seconds("seconds", default: .seconds(30))) }
}
