// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike

/// Holds open all that the library opens, starts a child, and tells which descriptors it inherits.
///
/// `turnpike-descriptors [--transport curl|urlsession]`
///
/// It fails if there are any, but for sockets that wake libcurl's own waiting and lead to nobody else:
/// before 8.12 libcurl makes two for each of its loops in this way (`local`).
@main
enum Descriptors {
    static func main() async {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if arguments == ["--list"] {
                return print(DescriptorList.own.values.map(\.self).sorted().joined(separator: "\n"))
            }
            let before = DescriptorList.own
            let transport = arguments.first == "--transport" ? arguments.last : "curl"
            let folder = FileManager.default.temporaryDirectory
                .appending(path: "turnpike-\(UUID().uuidString)")
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            defer { try? FileManager.default.removeItem(at: folder) }
            let open = try await OpenThings(in: folder, transport: transport ?? "")
            let (all, local) = (DescriptorList.own, DescriptorList.local)
            let children = try DescriptorList.ofChild()
            await open.close()
            // What this process was started with is not its own doing.
            let inherited = Set(children).subtracting(before.values)
            let leaked = inherited.subtracting(local)
            let report: JSONValue = [
                "open": .number(JSONNumber(all.count - before.count)),
                "inherited": .array(leaked.sorted().map { .string($0) }),
                "local": .number(JSONNumber(inherited.count - leaked.count)),
            ]
            print(report)
            if !leaked.isEmpty { exit(1) }
        } catch {
            FileHandle.standardError.write(Data("turnpike-descriptors: \(error)\n".utf8))
            exit(2)
        }
    }
}
