import Foundation
public import TurnpikeCore
import TurnpikeMiddleware

extension Registry {
    /// Adds the gate `cache` to the names of stack files.
    public mutating func registerCache() {
        register(gate: "cache") { try Cache(settings: $0) }
    }
}

extension Cache {
    private struct Setting: Hashable {
        let memory: Int
        let directory: String?
        let disk: Int
    }

    init(settings: Settings) throws {
        let setting = Setting(
            memory: settings.int("memory", default: 16 << 20, in: 0...(1 << 40)),
            directory: settings.string("directory"),
            disk: settings.int("disk", default: 256 << 20, in: 0...(1 << 50)))
        var options = Options()
        options.staleIfError = settings.seconds("staleIfError", default: .zero, orZero: true)
        options.identityFields = Set(settings.headerNames("identityFields"))
        let meter = settings.meter()
        if settings.isDryRun {
            self.init(options: options)
            return
        }
        let state = settings.kept(
            "entries", for: setting, updating: { $0.counts.move(to: meter) },
            { CacheState(store: Self.store(setting), meter: meter) })
        self.init(state: state, options: options)
    }

    private static func store(_ setting: Setting) -> any CacheStore {
        let memory = MemoryStore(maxBytes: setting.memory)
        guard let directory = setting.directory else { return memory }
        let disk = DiskStore(directory: directory, maxBytes: Int64(setting.disk))
        return setting.memory == 0 ? disk : TieredStore(memory, disk)
    }
}
