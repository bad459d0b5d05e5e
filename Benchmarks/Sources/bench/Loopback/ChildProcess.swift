import Foundation

/// This program once more, with other arguments, or another one.
final class ChildProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let errors = Pipe()

    init(_ arguments: [String], executable: String? = nil) throws {
        process.executableURL = executable.map { URL(filePath: $0) } ?? Bundle.main.executableURL
        if executable != nil { process.standardError = errors }
        process.arguments = arguments
        // Its end, when this process ends in whatever way, ends a child that waits for it.
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    /// Writes a line to its input.
    func send(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    /// The next line that it prints, or nil at the end.
    func readLine() throws -> String? { try Self.readLine(output) }

    /// The next line that another program prints as an error, or nil at the end.
    func readErrorLine() throws -> String? { try Self.readLine(errors) }

    private static func readLine(_ pipe: Pipe) throws -> String? {
        var line = Data()
        while let byte = try pipe.fileHandleForReading.read(upToCount: 1), !byte.isEmpty {
            if byte[0] == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line += byte
        }
        return nil
    }

    func end() {
        // What a dispatch thread starts inherits its blocked signals; this one cannot be blocked.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
