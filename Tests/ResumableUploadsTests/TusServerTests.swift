// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import TestSupport
import Testing
import TurnpikeCore
import TurnpikeCurl
import TurnpikeMiddleware
import TurnpikeResumableUploads
import TurnpikeTesting

@Suite("A resumable upload to tuspyserver", .timeLimit(.minutes(3)))
struct TusServerTests {
    private static let python =
        ProcessInfo.processInfo.environment["TURNPIKE_TUS_PYTHON"] ?? "python3"

    private static let program = """
        import socket, sys, uvicorn
        from fastapi import FastAPI
        from tuspyserver import create_tus_router
        app = FastAPI()
        app.include_router(create_tus_router(prefix="files", files_dir=sys.argv[1]))
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listener])
        """

    @Test(
        "A file that a proxy cuts at random bytes arrives whole",
        .needs(
            "the Python package tuspyserver",
            if: output(of: TusServerTests.python, "-c", "import tuspyserver, uvicorn") != nil),
        arguments: [1, 2, 3] as [UInt64])
    func cuts(seed: UInt64) async throws {
        let files = TemporaryFolder()
        let server = try ChildProcess(
            Self.python, ["-c", Self.program, files.path], output: .pipe, errors: .null)
        defer { server.kill() }
        let line = await Blocking.run { server.readLine() }
        let proxy = try FaultyProxy(to: try #require(line.flatMap { Int($0) }), seed: seed)
        proxy.faults.cutsWithin = 4 << 20
        let folder = TemporaryFolder()
        let file = URL(filePath: folder["file"])
        let content = try UploadNetworkTests.write(mib: 6, seed: seed, to: file)
        let client = Client(
            baseURL: Target("http://127.0.0.1:\(proxy.port)/"), transport: try CurlTransport(),
            stack: [.validate(), .redirect(), .retry()], serializers: SerializerTable())
        let upload = try await client.post("files", body: .file(file))
            // The server demands both items.
            .header("Upload-Metadata", "filename ZmlsZQ==,filetype dGV4dC9wbGFpbg==")
            .resumable(options: ResumableUploadOptions(dialect: .tus))
        #expect(upload.bytes == content.count && proxy.cuts > 0)
        let stored = files.names.compactMap { files.contents(of: $0) }
        #expect(stored.contains(content))
        #expect(folder.names == ["file"])
        await client.shutdown()
    }
}
