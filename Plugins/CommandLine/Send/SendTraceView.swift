// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeInspection

/// How `turnpike send --trace` shows where the time of the call went.
enum SendTraceView: Sendable, Equatable {
    /// A waterfall among the messages.
    case waterfall
    /// A file, of the format that its name ends in.
    case file(String, Format)

    /// What a file can be, with the end of its name.
    enum Format: String, Sendable, CaseIterable {
        // An ending that ends in another one stands before it.
        case otlp = ".otlp.json"
        case json = ".json"
        case har = ".har"
        case html = ".html"
        case svg = ".svg"
    }

    /// Creates a view.
    /// - Parameter path: The value of the option; nil without one.
    /// - Throws: ``ClientError/Code/configuration`` if the name of the file has no known end.
    init(_ path: String?) throws {
        guard let path else {
            self = .waterfall
            return
        }
        guard
            let format = Format.allCases.first(where: { path.lowercased().hasSuffix($0.rawValue) })
        else {
            throw SendOptions.wrong(
                "--trace: found \(JSONValue.string(path)); expected a file whose name ends in .html,"
                    + " .har, .svg, .json or .otlp.json, or --trace alone for a waterfall")
        }
        self = .file(path, format)
    }

    /// Shows a trace.
    /// - Throws: An error of the system if the file cannot be written.
    func show(_ trace: Trace, _ terminal: Terminal) throws {
        switch self {
        case .waterfall:
            let text = trace.waterfall(
                width: terminal.columns ?? 100, color: terminal.messagesHaveColor)
            terminal.messages(text)
        case .file(let path, let format):
            do {
                try Self.data(trace, format).write(to: URL(filePath: path), options: .atomic)
            } catch {
                throw OutputError(
                    description: "cannot write \(path): \(Self.reason(error))")
            }
        }
    }

    private static func data(_ trace: Trace, _ format: Format) -> Data {
        switch format {
        case .otlp: [trace].otlp(service: "turnpike send").data() + Data("\n".utf8)
        case .json: trace.json().data(pretty: true) + Data("\n".utf8)
        case .har: [trace].har().data(pretty: true) + Data("\n".utf8)
        case .html: Data([trace].html(title: "turnpike send").utf8)
        case .svg: Data(trace.svg().utf8)
        }
    }

    private static func reason(_ error: any Error) -> String {
        let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error
        return (cause ?? error).localizedDescription
    }
}
