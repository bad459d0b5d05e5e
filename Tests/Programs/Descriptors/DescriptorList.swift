// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What descriptors beyond the three standard ones lead to.
enum DescriptorList {
    /// Those of this process, by number.
    static var own: [Int: String] {
        let directory = "/proc/self/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        var list: [Int: String] = [:]
        for number in names.compactMap({ Int($0) }) where number > 2 {
            // The one by which they are listed is gone again.
            list[number] = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "\(directory)/\(number)")
        }
        return list
    }

    /// The sockets among those of this process that lead to nobody outside, such as what wakes a thread.
    static var local: Set<String> {
        let sockets = own.filter { number, _ in
            var address = sockaddr_un()
            var length = socklen_t(MemoryLayout<sockaddr_un>.size)
            let code = unsafe withUnsafeMutableBytes(of: &address) { bytes -> CInt in
                guard let base = bytes.baseAddress else { return -1 }
                return unsafe getsockname(
                    CInt(number), base.assumingMemoryBound(to: sockaddr.self), &length)
            }
            return code == 0 && CInt(address.sun_family) == AF_UNIX
        }
        return Set(sockets.values)
    }

    /// Those of a child that is started as C programs do it: it gets all that is not closed by name.
    static func ofChild() throws -> [String] {
        var ends: [CInt] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw DescriptorFailure("pipe", errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        let path = CommandLine.arguments[0]
        var arguments = unsafe [strdup(path), strdup("--list"), nil]
        defer { for index in unsafe arguments.indices { unsafe free(arguments[index]) } }
        var child = pid_t()
        let code = unsafe posix_spawn(&child, path, &actions, nil, &arguments, nil)
        close(ends[1])
        guard code == 0 else { throw DescriptorFailure("posix_spawn", code) }
        let output = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        let text = String(decoding: try output.readToEnd() ?? Data(), as: UTF8.self)
        var status: CInt = 0
        unsafe waitpid(child, &status, 0)
        guard status == 0 else { throw DescriptorFailure("the child", status) }
        return text.split(separator: "\n").map { String($0) }
    }
}

struct DescriptorFailure: Error, CustomStringConvertible {
    let description: String

    init(_ action: String, _ code: CInt) { description = "\(action) failed with \(code)" }
}
