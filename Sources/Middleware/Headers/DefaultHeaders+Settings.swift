import TurnpikeCore

extension DefaultHeaders {
    init(settings: Settings) {
        let languages = settings.strings("languages")
        for (index, language) in languages.enumerated() where !Self.isLanguageRange(language) {
            settings.issue(at: "languages[\(index)]", "a language range like en or de-AT is wanted")
        }
        self.init(
            settings.headers("set"), languages: languages, origins: settings.secretOrigins())
    }
}
