import Foundation
import TurnpikeCore

#if canImport(FoundationXML)
import FoundationXML
#endif

/// Reads a document by Foundation's event parser, within limits.
enum XMLReader {
    static func read(
        _ content: Data, limits: XMLLimits, _ handle: @escaping (XMLEvent) throws -> Void
    ) throws {
        try XMLGuard.check(content)
        let parser = XMLParser(data: content)
        parser.shouldResolveExternalEntities = false
        parser.shouldProcessNamespaces = false
        let delegate = Delegate(limits, handle)
        parser.delegate = delegate
        let isWhole = parser.parse()
        parser.delegate = nil
        if let error = delegate.error { throw error }
        guard isWhole, delegate.depth == 0, delegate.count > 0 else {
            throw XMLGuard.fault(
                "is not well formed: line \(parser.lineNumber), column \(parser.columnNumber)")
        }
    }

    private final class Delegate: NSObject, XMLParserDelegate {
        let limits: XMLLimits
        let handle: (XMLEvent) throws -> Void
        var depth = 0
        var count = 0
        var text = ""
        var error: (any Error)?

        init(_ limits: XMLLimits, _ handle: @escaping (XMLEvent) throws -> Void) {
            self.limits = limits
            self.handle = handle
        }

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
            qualifiedName: String?, attributes: [String: String]
        ) {
            depth += 1
            count += 1 + attributes.count
            if depth > limits.depth {
                return stop(parser, XMLGuard.fault("nests deeper than \(limits.depth)"))
            }
            if count > limits.nodes {
                return stop(parser, XMLGuard.fault("has more than \(limits.nodes) nodes"))
            }
            flush(parser)
            send(.begin(name: name, attributes: attributes), parser)
        }

        func parser(
            _ parser: XMLParser, didEndElement name: String, namespaceURI: String?,
            qualifiedName: String?
        ) {
            depth -= 1
            flush(parser)
            send(.end(name: name), parser)
        }

        func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }

        func parser(_ parser: XMLParser, foundCDATA block: Data) {
            guard let string = String(validating: block, as: UTF8.self) else {
                return stop(parser, XMLGuard.fault("has text that is not valid"))
            }
            text += string
        }

        private func flush(_ parser: XMLParser) {
            if text.isEmpty { return }
            let event = XMLEvent.text(text)
            text = ""
            send(event, parser)
        }

        private func send(_ event: XMLEvent, _ parser: XMLParser) {
            if error != nil { return }
            do {
                try handle(event)
            } catch {
                stop(parser, error)
            }
        }

        private func stop(_ parser: XMLParser, _ error: any Error) {
            self.error = self.error ?? error
            parser.abortParsing()
        }
    }
}
