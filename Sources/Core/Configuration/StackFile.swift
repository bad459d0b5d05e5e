public import Foundation

/// A client as data: base URL, transport, and the ordered stack, outermost gate first.
///
/// ```json
/// {
///   "baseURL": "https://api.example.com/v1/",
///   "transport": {"use": "urlsession"},
///   "stack": [
///     {"use": "deadline", "seconds": 30},
///     {"use": "retry", "attempts": 3},
///     {"use": "basic", "user": "svc", "password": {"env": "PASSWORD"}}
///   ]
/// }
/// ```
///
/// Durations are in seconds, sizes in bytes. Without `stack` it is the standard one; `[]` is none.
/// A file is checked whole before anything of it runs: ``ClientError/Code/configuration`` names
/// every mistake with its path, what was found and what is allowed. A setting that the chosen
/// transport cannot honour is ``ClientError/Code/unsupported``.
public struct StackFile: Sendable, Hashable {
    private(set) var root: JSONObject

    /// Creates a stack file from JSON text.
    /// - Throws: ``ClientError/Code/configuration`` with line and column where the text is no JSON
    ///   object.
    public init(parsing data: Data) throws {
        let value: JSONValue
        do {
            value = try JSONValue(
                parsing: data, options: JSONReadingOptions(duplicateNames: .refuse))
        } catch {
            throw ClientError(.configuration, "the stack file is no JSON: \(error)")
        }
        try self.init(value)
    }

    /// Reads a stack file.
    public init(contentsOf url: URL) throws {
        let data: Data
        do {
            data = try Data(contentsOf: url)
        } catch {
            let path = Grammar.escaped(url.path(percentEncoded: false))
            throw ClientError(
                .configuration, "the stack file \(path) cannot be read", underlying: error)
        }
        try self.init(parsing: data)
    }

    /// Creates a stack file from a JSON value.
    public init(_ value: JSONValue) throws {
        guard let object = value.object else {
            throw ClientError(.configuration, "a stack file is a JSON object")
        }
        root = object
    }

    /// Creates a stack file from a JSON value, over another one whose parts it replaces.
    package init(_ value: JSONValue, over base: StackFile?) throws {
        try self.init(value)
        guard let base else { return }
        let own = root
        root = base.root
        for member in own { root[member.name] = member.value }
    }

    /// The mistakes in the file; nothing is opened or made.
    public func check(with registry: Registry) -> [ConfigurationIssue] {
        let report = IssueReport()
        _ = parts(registry, report, KeptState(), isDryRun: true)
        return report.issues
    }

    /// What a file describes.
    struct Parts {
        let baseURL: Target?
        let transport: any Transport
        let stack: Stack
    }

    /// Makes the client's parts.
    /// - Parameters:
    ///   - registry: The names that the file may use.
    ///   - state: What gates remember.
    ///   - transport: A transport that stays in the place of the file's.
    /// - Returns: The parts.
    /// - Throws: ``ClientError/Code/configuration`` with every mistake.
    func build(
        with registry: Registry, state: KeptState, keeping transport: (any Transport)? = nil
    ) throws -> Parts {
        // A dry run first: a mistake must not leave files opened by the gates before it.
        let issues = check(with: registry)
        if !issues.isEmpty { throw ClientError.configuration(issues) }
        let report = IssueReport()
        let parts = parts(registry, report, state, isDryRun: false, keeping: transport)
        try report.check()
        guard let parts else { throw ClientError(.configuration, "the stack file cannot be built") }
        return parts
    }

    private func parts(
        _ registry: Registry, _ report: IssueReport, _ state: KeptState, isDryRun: Bool,
        keeping kept: (any Transport)? = nil
    ) -> Parts? {
        let outer = Settings(
            root, path: "", baseURL: nil, isDryRun: isDryRun, report: report, state: state,
            common: registry.common)
        let base = outer.string("baseURL").map { Target($0) }
        let resolved = base?.resolved(against: nil)
        if let fault = resolved?.fault { outer.issue(at: "baseURL", fault) }
        let settings = Settings(
            root, path: "", baseURL: resolved?.fault == nil ? resolved?.url : nil,
            isDryRun: isDryRun, report: report, state: state, common: registry.common)
        let described = outer.value("transport")
        let transport = kept ?? registry.transport(described, in: settings)
        let stack = registry.stack(outer.value("stack"), in: settings)
        outer.finish()
        return transport.map { Parts(baseURL: base, transport: $0, stack: stack) }
    }
}
