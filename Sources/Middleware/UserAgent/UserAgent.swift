// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Sets `User-Agent` on requests that have no such field.
///
/// The default value describes program, version, bundle, build, system and library:
/// `shop/2.1 (com.example.shop; build:7; Linux 6.1.0) Turnpike/0.1.0`. If a part is unknown, the
/// value contains `Unknown`. On Linux, version, bundle and build are usually unknown.
public struct UserAgent: SynchronousRequestAdapter {
    private let value: String

    /// Creates a gate that sets `User-Agent`.
    /// - Parameter value: The value. If nil, the value describes the program.
    public init(_ value: String? = nil) { self.value = value ?? Self.ofProgram }

    /// States the value of `User-Agent`.
    public func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "names the program", .setsFields([.userAgent], .plain), fields: [.userAgent: value],
            passedOver: request?.headers.contains(.userAgent) == true
                ? "the request has a User-Agent" : nil)
    }

    /// Sets the field if the request has no such field.
    public func adapt(_ request: inout Request, context: Context) {
        request.headers.setIfAbsent(.userAgent, value)
    }

    static let ofProgram: String = {
        #if canImport(FoundationEssentials)
        func text(_ key: String) -> String? { nil }
        #else
        func text(_ key: String) -> String? {
            Bundle.main.object(forInfoDictionaryKey: key) as? String
        }
        #endif
        let process = ProcessInfo.processInfo
        let system = process.operatingSystemVersion
        return describe(
            program: text("CFBundleExecutable") ?? process.processName,
            version: text("CFBundleShortVersionString"), bundle: text("CFBundleIdentifier"),
            build: text("CFBundleVersion"),
            system: systemName
                + " \(system.majorVersion).\(system.minorVersion).\(system.patchVersion)")
    }()

    static func describe(
        program: String?, version: String?, bundle: String?, build: String?, system: String
    ) -> String {
        let comment = "\(word(bundle)); build:\(word(build)); \(comment(system))"
        return "\(word(program))/\(word(version)) (\(comment)) Turnpike/\(LibraryVersion.current)"
    }

    // Returns the text as a token (RFC 9110 §5.6.2). Each character that a token cannot contain
    // becomes a hyphen.
    private static func word(_ text: String?) -> String {
        let bytes = (text ?? "").utf8.prefix(64)
        guard bytes.contains(where: Grammar.isTokenByte) else { return "Unknown" }
        return String(
            decoding: bytes.map { Grammar.isTokenByte($0) ? $0 : UInt8(ascii: "-") }, as: UTF8.self)
    }

    // Removes parentheses and backslashes, which would need escapes in a comment (RFC 9110 §5.6.5).
    private static func comment(_ text: String) -> String {
        String(
            decoding: text.utf8.prefix(128).filter {
                (0x20..<0x7F).contains($0) && !"()\\".utf8.contains($0)
            }, as: UTF8.self)
    }

    private static var systemName: String {
        #if os(Linux)
        "Linux"
        #elseif os(macOS)
        "macOS"
        #elseif os(iOS)
        "iOS"
        #else
        "Unknown"
        #endif
    }
}

extension Gate where Self == UserAgent {
    /// Sets `User-Agent`; see ``UserAgent/init(_:)``.
    public static func userAgent(_ value: String? = nil) -> Self { UserAgent(value) }
}
