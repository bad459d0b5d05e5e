import Foundation
import Turnpike

/// `turnpike exec`: answers each line of standard input with a line of standard output.
enum ExecCommand {
    static func run(_ arguments: [String]) async -> Int32 {
        let base: StackFile?
        do {
            base = try stackFile(arguments)
        } catch {
            Console.error((error as? ClientError)?.message ?? "\(error)")
            return ExitCode.usage
        }
        let clients = ExecClients(base: base)
        var lines = InputLines()
        while let line = lines.next() {
            let answer = await ExecLine.answer(line, clients)
            do {
                try Console.write(answer.data() + Data("\n".utf8))
            } catch {
                // Nobody reads any more.
                break
            }
        }
        await clients.shutdown()
        return ExitCode.success
    }

    private static func stackFile(_ arguments: [String]) throws -> StackFile? {
        switch arguments.count {
        case 0: return nil
        case 2 where arguments[0] == "--stack":
            let file = try StackFile(contentsOf: URL(filePath: arguments[1]))
            let issues = file.check(with: .commandLine)
            guard issues.isEmpty else {
                throw ClientError(.configuration, issues.map(\.description).joined(separator: "\n"))
            }
            return file
        default: throw ClientError(.configuration, "exec knows one option: --stack FILE")
        }
    }
}

/// The lines of standard input, whatever bytes they hold.
struct InputLines {
    private var buffer = Data()
    private var scanned = 0
    private var hasEnded = false

    mutating func next() -> Data? {
        while true {
            if let end = buffer[(buffer.startIndex + scanned)...].firstIndex(of: 0x0A) {
                let line = buffer[buffer.startIndex..<end]
                buffer = Data(buffer[(end + 1)...])
                scanned = 0
                return line.last == 0x0D ? line.dropLast() : line
            }
            scanned = buffer.count
            if hasEnded {
                defer { buffer = Data() }
                scanned = 0
                return buffer.isEmpty ? nil : buffer
            }
            // What is there, as soon as it is: a line must be answered before the next one comes.
            let chunk = FileHandle.standardInput.availableData
            if chunk.isEmpty { hasEnded = true } else { buffer.append(chunk) }
        }
    }
}
