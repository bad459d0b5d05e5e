// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike

@testable import TurnpikeCommandLine
@testable import TurnpikeInspection

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

@Suite("turnpike status")
struct StatusCommandTests {
    private let folder = TemporaryFolder()

    private func run(_ arguments: String...) async -> (code: Int32, text: String, messages: String)
    {
        let terminal = FakeTerminal()
        let code = await TurnpikeCommand.run(
            ["status"] + arguments, terminal.terminal(), .commandLine)
        return (code, terminal.text, terminal.messages)
    }

    @Test("It prints the state of a running client as text, as JSON and as a page")
    func forms() async throws {
        let client = Client(
            transport: MockTransport { _ in .ok() },
            stack: [.switched(by: Switch(share: 0, by: "Ann"), [.retry()])])
        let socket = try StatusSocket(at: folder["s"], of: client, client)
        let text = await run(folder["s"])
        #expect(text.code == 0)
        #expect(
            text.text.components(separatedBy: "! Switched: switch: off, set by Ann\n").count == 3)
        let json = await run(folder["s"], "--json")
        let parts = try JSONValue(parsing: Data(json.text.utf8)).array?.last?["parts"]?.array
        #expect(parts?.map { $0["name"] } == ["Client", "Switched", "Retry", "MockTransport"])
        let page = await run("--html", folder["s"])
        #expect(page.code == 0 && page.text.hasPrefix("<!DOCTYPE html>"))
        socket.close()
        let gone = await run(folder["s"])
        #expect(gone.code == 7 && gone.text.isEmpty)
        #expect(gone.messages.contains("\(folder["s"]): cannot connect"))
    }

    @Test(
        "A wrong command line is a usage error",
        arguments: [[], ["a", "b"], ["a", "--svg"], ["a", "--json", "--html"]])
    func usage(_ arguments: [String]) async {
        let terminal = FakeTerminal()
        #expect(StatusCommand.run(arguments, terminal.terminal()) == 2)
        #expect(terminal.messages.contains("turnpike status --help"))
    }

    @Test("A socket that serves something else is told so")
    func garbage() async throws {
        let server = try UnixSocket(folder["s"])
        #expect(unsafe server.call(bind))
        #expect(listen(server.descriptor, 1) == 0)
        let (begin, continuation) = AsyncStream.makeStream(of: Void.self)
        async let served: Void = Blocking.run {
            continuation.finish()
            server.serve(timeval(tv_sec: 60, tv_usec: 0)) { Data("HTTP/1.1 200 OK\r\n\r\n".utf8) }
        }
        for await _ in begin {}
        let result = await run(folder["s"])
        #expect(result.code == 7)
        #expect(result.messages.contains("found something else than the state of clients"))
        await served
    }
}
