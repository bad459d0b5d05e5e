// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

/// A server for HTTP/3 on loopback that does what each request says in its field `x-steps`.
///
/// The field is JSON: a list of steps for each arrival of the request's path; the last list is for
/// all later arrivals. A response without further steps stays open.
final class ScriptedHTTP3Server: Sendable {
    /// What the server has seen.
    struct State: Decodable {
        /// The requests by their paths.
        let arrivals: [String: Int]
        /// For each connection, whether it has accepted TLS early data.
        let early: [Bool]
        /// How many connections have resumed a TLS session.
        let resumed: Int
    }

    let port: Int
    private let process: ChildProcess

    static let need =
        "the Python package aioquic, openssl, and a libcurl with HTTP/3 (scripts/libcurl --http3)"

    static let isAvailable =
        TLSFiles.shared != nil && (try? CurlLibrary.loadHTTP3()) != nil
        && output(of: python, "-c", "import aioquic.asyncio") != nil

    private static let python =
        ProcessInfo.processInfo.environment["TURNPIKE_HTTP3_PYTHON"] ?? "python3"

    init() throws {
        let files = try #require(TLSFiles.shared)
        process = try ChildProcess(
            Self.python, ["-c", Self.program, files.certificate, files.key], output: .pipe)
        port = try #require(process.readLine().flatMap { Int($0) })
    }

    deinit { process.kill() }

    /// Creates a client whose transport trusts the server.
    func client(
        stack: Stack = [], _ configure: (inout CurlTransport.Configuration) -> Void = { _ in }
    ) throws -> Client {
        try http3Client(.only, at: port, stack: stack, configure)
    }

    func state() async throws -> State {
        let data = try await client().get("state").response().body.collect(upTo: 100_000)
        return try JSONDecoder().decode(State.self, from: data)
    }

    private static let program = """
        import asyncio, json, sys
        import pylsqpack
        from aioquic.asyncio import QuicConnectionProtocol, serve
        from aioquic.buffer import encode_uint_var
        from aioquic.h3.connection import FrameType, H3Connection, encode_frame
        from aioquic.h3.events import DataReceived, HeadersReceived
        from aioquic.quic.configuration import QuicConfiguration
        from aioquic.quic.events import HandshakeCompleted, ProtocolNegotiated

        state = {"arrivals": {}, "early": [], "resumed": 0}
        gate = asyncio.Event()

        class Server(QuicConnectionProtocol):
            http, ends, tasks, all = None, None, set(), set()

            def quic_event_received(self, event):
                if isinstance(event, HandshakeCompleted):
                    state["early"].append(event.early_data_accepted)
                    state["resumed"] += event.session_resumed
                if isinstance(event, ProtocolNegotiated):
                    self.http, self.ends = H3Connection(self._quic), {}
                    self.all.add(self)
                for each in self.http.handle_event(event) if self.http else []:
                    if isinstance(each, HeadersReceived):
                        self.ends[each.stream_id] = asyncio.Event()
                        fields = {name.decode(): value.decode() for name, value in each.headers}
                        task = asyncio.create_task(self.answer(each.stream_id, fields))
                        self.tasks.add(task)
                        task.add_done_callback(self.tasks.discard)
                    if isinstance(each, (DataReceived, HeadersReceived)) and each.stream_ended:
                        self.ends[each.stream_id].set()

            async def answer(self, stream, fields):
                path, quic = fields[":path"], self._quic
                ok = ["head", [[":status", "200"]]]
                if path == "/state":
                    steps = [ok, ["text", json.dumps(state)], ["fin"]]
                else:
                    number = state["arrivals"][path] = state["arrivals"].get(path, 0) + 1
                    plain = [[ok, ["data", 2], ["fin"]]]
                    lists = json.loads(fields.get("x-steps", "null")) or plain
                    steps = lists[min(number, len(lists)) - 1]
                for step, *values in steps:
                    value = values[0] if values else None
                    if step == "many":
                        value = [["a%d" % number, "b" * 1000] for number in range(value)]
                        step, value = "head", [[":status", "200"], *value]
                    if step == "head":
                        lines = [(name.encode(), text.encode()) for name, text in value]
                        block = pylsqpack.Encoder().encode(stream, lines)[1]
                        quic.send_stream_data(stream, encode_frame(FrameType.HEADERS, block))
                    elif step == "data":
                        quic.send_stream_data(stream, encode_frame(FrameType.DATA, b"a" * value))
                    elif step == "text":
                        quic.send_stream_data(stream, encode_frame(FrameType.DATA, value.encode()))
                    elif step == "raw": quic.send_stream_data(stream, bytes.fromhex(value))
                    elif step == "fin": quic.send_stream_data(stream, b"", True)
                    elif step == "reset": quic.reset_stream(stream, value)
                    elif step == "stop": quic.stop_stream(stream, value)
                    elif step == "close": quic.close(error_code=value)
                    elif step == "close others":
                        for other in self.all - {self}: other.close(error_code=value)
                    elif step == "goaway":
                        # The next stream of a request is the first without a response.
                        frame = encode_frame(FrameType.GOAWAY, encode_uint_var(stream + 4))
                        quic.send_stream_data(self.http._local_control_stream_id, frame)
                    # Returns when the client has all that was sent.
                    elif step == "ping": await self.ping()
                    elif step == "read": await self.ends[stream].wait()
                    elif step == "wait": await gate.wait()
                    elif step == "open": gate.set()
                    else: raise ValueError(step)
                    self.transmit()

        async def main():
            configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"])
            configuration.load_cert_chain(sys.argv[1], sys.argv[2])
            tickets = {}
            server = await serve(
                "127.0.0.1", 0, configuration=configuration, create_protocol=Server,
                session_ticket_fetcher=tickets.get,
                session_ticket_handler=lambda ticket: tickets.update({ticket.ticket: ticket}))
            print(server._transport.get_extra_info("sockname")[1], flush=True)
            await asyncio.Event().wait()

        asyncio.run(main())
        """
}

/// Creates a client over HTTP/3 for a server on loopback.
func http3Client(
    _ http3: CurlTransport.HTTP3, at port: Int, stack: Stack,
    _ configure: (inout CurlTransport.Configuration) throws -> Void
) throws -> Client {
    var configuration = CurlTransport.Configuration()
    configuration.http3 = http3
    configuration.trust.authorities = .file(try #require(TLSFiles.shared).authority)
    configuration.overrides = [
        CurlTransport.HostOverride(host: "localhost", port: port, addresses: ["127.0.0.1"])
    ]
    try configure(&configuration)
    return Client(
        baseURL: Target("https://localhost:\(port)/"),
        transport: try CurlTransport(configuration: configuration), stack: stack)
}
