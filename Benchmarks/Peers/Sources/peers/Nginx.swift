import Foundation

/// nginx with one worker on loopback, with a folder and certificates of its own.
final class Nginx {
    let port: Int
    let securePort: Int
    let authority: String
    private let folder: String
    private let process = Process()

    init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/turnpike-peers-\(getpid())"
        let files = FileManager.default
        try files.createDirectory(atPath: folder + "/www", withIntermediateDirectories: true)
        // Also outside of Debian's folders, and to the worker, which has another user.
        try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
        try Data(repeating: 0x61, count: 1024).write(to: URL(filePath: folder + "/www/1k"))
        try Data(repeating: 0x62, count: 65_536).write(to: URL(filePath: folder + "/www/64k"))
        files.createFile(atPath: folder + "/www/1g", contents: nil)
        try FileHandle(forWritingTo: URL(filePath: folder + "/www/1g")).truncate(atOffset: 1 << 30)
        authority = folder + "/cert.pem"
        _ = try output(
            of: "openssl",
            [
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-quiet", "-keyout",
                folder + "/key.pem", "-out", authority, "-days", "2", "-subj", "/CN=localhost",
                "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
            ].filter { $0 != "-quiet" })
        port = 20_000 + Int(getpid()) % 20_000
        securePort = port + 1
        try configuration.write(
            toFile: folder + "/nginx.conf", atomically: true, encoding: .utf8)
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["nginx", "-c", folder + "/nginx.conf", "-p", folder]
        process.environment = ["PATH": "/usr/sbin:/usr/bin:/bin:/usr/local/sbin:/usr/local/bin"]
        process.standardError = FileHandle.nullDevice
        try process.run()
        for _ in 0..<100 where !isUp { Thread.sleep(forTimeInterval: 0.05) }
        if !isUp { throw PeerError("nginx did not start; is nginx-light installed?") }
    }

    func url(_ workload: Workload) -> String {
        workload.isSecure
            ? "https://localhost:\(securePort)/\(workload.path)"
            : "http://127.0.0.1:\(port)/\(workload.path)"
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: folder)
    }

    private var isUp: Bool {
        FileManager.default.fileExists(atPath: folder + "/nginx.pid") && process.isRunning
    }

    private var configuration: String {
        """
        worker_processes 1; daemon off; pid \(folder)/nginx.pid; error_log \(folder)/error.log;
        events { worker_connections 4096; }
        http {
          access_log off; keepalive_requests 1000000000; default_type application/octet-stream;
          sendfile on; tcp_nopush on; client_max_body_size 2g; client_body_buffer_size 2m;
          http2_max_requests 1000000000;
          client_body_temp_path \(folder)/body; proxy_temp_path \(folder)/proxy;
          fastcgi_temp_path \(folder)/f; uwsgi_temp_path \(folder)/u; scgi_temp_path \(folder)/s;
          server { listen 127.0.0.1:\(port) backlog=4096; root \(folder)/www;
            location = /sink { proxy_pass http://unix:\(folder)/sink.sock;
              proxy_pass_request_body off; proxy_set_header Content-Length ""; } }
          server { listen 127.0.0.1:\(securePort) ssl http2 backlog=4096; root \(folder)/www;
            ssl_certificate \(authority); ssl_certificate_key \(folder)/key.pem; }
          server { listen unix:\(folder)/sink.sock; location / { return 204; } }
        }
        """
    }
}
