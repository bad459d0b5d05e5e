// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation

/// A server of `websockets` in Python, in a process of its own: with TLS too, where `openssl` makes a certificate.
final class SocketServer {
    let process: ChildProcess
    let port: String
    /// Where the server speaks TLS, and the file with its authority.
    let overTLS: (port: String, authority: String)?
    private let folder: URL

    init(_ python: String) throws {
        folder = FileManager.default.temporaryDirectory
            .appending(path: "turnpike-sockets-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let certificate = folder.appending(path: "certificate.pem").path()
        let key = folder.appending(path: "key.pem").path()
        let maker = try? ChildProcess(
            "openssl",
            [
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out",
                certificate,
            ], output: .null, errors: .null)
        let files = maker?.wait() == .exited(0) ? [certificate, key] : []
        process = try ChildProcess(
            python, ["-c", Self.program] + files, output: .pipe, errors: .null)
        let ports = process.readLine()?.split(separator: " ").map { String($0) } ?? []
        guard let first = ports.first else { throw SocketFailure("the server did not start") }
        port = first
        overTLS = ports.count == 2 ? (ports[1], certificate) : nil
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    // A text on /cut is answered by a close frame within a message, and on /lost by the end of the connection there.
    private static let program = """
        import asyncio, resource, ssl, sys
        from websockets.asyncio.server import serve
        async def talk(socket):
            async for message in socket:
                if socket.request.path == "/cut": socket.transport.write(b"\\x01\\x04half\\x88\\x02\\x03\\xe9")
                elif socket.request.path == "/lost":
                    socket.transport.write(b"\\x01\\x04half")
                    socket.transport.close()
                else: await socket.send(message)
        async def main():
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
            contexts = [None]
            if len(sys.argv) == 3:
                contexts.append(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
                contexts[1].load_cert_chain(sys.argv[1], sys.argv[2])
            ports = []
            for context in contexts:
                server = await serve(talk, "127.0.0.1", 0, ssl=context, ping_interval=None, open_timeout=600)
                ports.append(str(server.sockets[0].getsockname()[1]))
            print(*ports, flush=True)
            await asyncio.Event().wait()
        asyncio.run(main())
        """
}
