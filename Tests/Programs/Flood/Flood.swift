// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike

/// Moves a content that is larger than memory ought to hold, and prints what memory it took.
///
/// `turnpike-flood --mode down-slow|down-drop|download|up-file|up-stream|multipart [--mib N]
/// [--pause MILLISECONDS] [--transport urlsession|curl]`
///
/// The server is this program once more, so that its memory does not count.
@main
enum Flood {
    static func main() async {
        do {
            let options = try FloodOptions(Array(CommandLine.arguments.dropFirst()))
            if options.mode == .serve { return try FloodServer.serve() }
            let server = try FloodServer()
            defer { server.end() }
            let figures = try await FloodRun(options, server: server.url).run()
            print(figures)
            if let fault = options.fault(of: figures) { throw FloodFailure(fault) }
        } catch {
            FileHandle.standardError.write(Data("turnpike-flood: \(error)\n".utf8))
            exit(1)
        }
    }
}

struct FloodOptions {
    enum Mode: String {
        /// A reader that is far slower than the server.
        case downSlow = "down-slow"
        /// A slow reader that gives up after an eighth.
        case downDrop = "down-drop"
        /// A file, whose transfer breaks off three times and goes on by ranges.
        case download
        /// A sparse file.
        case upFile = "up-file"
        /// A stream, which URLSession needs in a file first.
        case upStream = "up-stream"
        /// A form with a sparse file.
        case multipart
        case serve
    }

    private(set) var mode = Mode.downSlow
    private(set) var transport = FloodTransport.urlsession
    private(set) var mib = 1024
    /// How long the slow reader sleeps for each MiB, in milliseconds.
    private(set) var pause = 20

    private static let usage =
        "usage: turnpike-flood --mode down-slow|down-drop|download|up-file|up-stream|multipart"
        + " [--mib N] [--pause MILLISECONDS] [--transport urlsession|curl]"

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            let value = rest.popFirst() ?? ""
            if option == "--transport", let transport = FloodTransport(rawValue: value) {
                self.transport = transport
                continue
            }
            switch (option, Mode(rawValue: value), Int(value)) {
            case ("--mode", let mode?, _): self.mode = mode
            case ("--mib", _, let mib?) where mib > 0: self.mib = mib
            case ("--pause", _, let pause?) where pause >= 0: self.pause = pause
            default: throw FloodFailure(Self.usage)
            }
        }
    }

    var bytes: Int64 { Int64(mib) << 20 }

    /// What is wrong with a run's figures, or nil.
    func fault(of figures: JSONValue) -> String? {
        let expected = mode == .downDrop ? bytes / 8 : bytes
        if let count = figures["bytes"]?.int, count < expected { return "only \(count) bytes came" }
        if let held = figures["heldMiB"]?.double, held >= transport.memoryLimit {
            return "\(held) MiB were held in memory"
        }
        if !transport.needsTemporaryFiles, let peak = figures["temporaryMiB"]?.double, peak > 0 {
            return "there were \(peak) MiB of temporary files"
        }
        if let left = figures["temporaryMiBLeft"]?.double, left > 0 {
            return "\(left) MiB of temporary files were left"
        }
        return nil
    }
}

struct FloodFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
