// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation

/// nginx on loopback, with one worker, and its own folder and certificates.
final class Nginx {
    /// The certificate of the TLS port, which is also its authority.
    ///
    /// Nil if openssl is missing; then there is no TLS port.
    let authority: String?
    private let folder: String
    private var port = 0
    private var securePort = 0
    private var process: ChildProcess?

    init() throws {
        let program = try Command.require("nginx", package: "nginx-light")
        folder = FileManager.default.temporaryDirectory.path + "/turnpike-peers-\(getpid())"
        authority = Command.find("openssl").map { [folder] _ in folder + "/cert.pem" }
        Cleanup.add(folder: folder)
        do {
            try prepare()
            var attempts = 1
            while try !start(program) {
                if attempts == 3 { throw PeerError("nginx did not start: \(log)") }
                attempts += 1
            }
        } catch {
            stop()
            throw error
        }
    }

    func url(_ workload: Workload) -> String {
        workload.isSecure
            ? "https://localhost:\(securePort)/\(workload.path)"
            : "http://127.0.0.1:\(port)/\(workload.path)"
    }

    /// The number of connections accepted so far.
    func connections() throws -> Int {
        // After the line that names them, there are three numbers. The first one counts the
        // accepted connections.
        let text = try Socket.get("/status", port: port)
        let line = text.components(separatedBy: "requests").dropFirst().first ?? ""
        guard let count = line.split(whereSeparator: \.isWhitespace).first.flatMap({ Int($0) })
        else { throw PeerError("nginx does not report its connections") }
        return count
    }

    func stop() {
        if let process { end(process) }
        try? FileManager.default.removeItem(atPath: folder)
        Cleanup.remove(folder: folder)
    }

    private func prepare() throws {
        let files = FileManager.default
        try files.createDirectory(atPath: folder + "/www", withIntermediateDirectories: true)
        // The worker runs as another user. The folder may be outside of Debian's own folders.
        try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
        try Data(repeating: 0x61, count: 1024).write(to: URL(filePath: folder + "/www/1k"))
        try Data(repeating: 0x62, count: 65_536).write(to: URL(filePath: folder + "/www/64k"))
        let large = URL(filePath: folder + "/www/1g")
        try Data().write(to: large)
        try FileHandle(forWritingTo: large).truncate(atOffset: 1 << 30)
        guard let authority, let openssl = Command.find("openssl") else { return }
        _ = try Command.output(
            of: openssl,
            [
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder + "/key.pem",
                "-out", authority, "-days", "2", "-subj", "/CN=localhost",
                "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
            ], within: 60)
    }

    private static let keptMemory =
        "glibc.malloc.trim_threshold=1073741824:glibc.malloc.mmap_threshold=1073741824"

    // A port that was free before may be taken by now. Then the start fails.
    private func start(_ program: String) throws -> Bool {
        let ports = try Socket.freePorts(2)
        (port, securePort) = (ports[0], ports[1])
        try configuration.write(
            toFile: folder + "/nginx.conf", atomically: true, encoding: .utf8)
        try Data().write(to: URL(filePath: folder + "/start.log"))
        // Without these settings, the system clears the buffer pages of each body again in some
        // runs. Clearing them is a third of the cost of an upload for every client.
        let process = try ChildProcess(
            program, ["-c", folder + "/nginx.conf", "-p", folder],
            environment: ["GLIBC_TUNABLES": Self.keptMemory],
            errors: .handle(FileHandle(forWritingTo: URL(filePath: folder + "/start.log"))))
        self.process = process
        Cleanup.add(process.id)
        // nginx writes its process id after it has begun to listen on its ports.
        for _ in 0..<100 where process.isRunning {
            if FileManager.default.fileExists(atPath: folder + "/nginx.pid") { return true }
            Thread.sleep(forTimeInterval: 0.05)
        }
        end(process)
        return false
    }

    private func end(_ process: ChildProcess) {
        process.signal(SIGTERM)
        process.wait()
        Cleanup.remove(process.id)
    }

    private var log: String {
        let text = (try? String(contentsOfFile: folder + "/start.log", encoding: .utf8)) ?? ""
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private var configuration: String {
        """
        worker_processes 1; daemon off; pid \(folder)/nginx.pid; error_log \(folder)/error.log;
        events { worker_connections 4096; }
        http {
          access_log off; keepalive_requests 1000000000; default_type application/octet-stream;
          sendfile on; tcp_nopush on; client_max_body_size 2g; client_body_buffer_size 2m;
          client_body_temp_path \(folder)/body; proxy_temp_path \(folder)/proxy;
          fastcgi_temp_path \(folder)/f; uwsgi_temp_path \(folder)/u; scgi_temp_path \(folder)/s;
          upstream sink { server unix:\(folder)/sink.sock; keepalive 64;
            keepalive_requests 1000000000; }
          server { listen 127.0.0.1:\(port) backlog=4096; root \(folder)/www;
            location = /status { stub_status; }
            location = /sink { proxy_pass http://sink; proxy_http_version 1.1;
              proxy_set_header Connection ""; proxy_set_header Content-Length "";
              proxy_pass_request_body off; } }
          \(secureServer)
          server { listen unix:\(folder)/sink.sock; location / { return 204; } }
        }
        """
    }

    // A client that does not use HTTP/2 here gets no content, and so no results.
    private var secureServer: String {
        guard let authority else { return "" }
        return """
            server { listen 127.0.0.1:\(securePort) ssl http2 backlog=4096; root \(folder)/www;
                if ($server_protocol != "HTTP/2.0") { return 421; }
                ssl_certificate \(authority); ssl_certificate_key \(folder)/key.pem; }
            """
    }
}
