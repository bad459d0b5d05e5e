// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TestSupport

@testable import TurnpikeCore
@testable import TurnpikeSupport

@Suite("SHA256")
struct SHA256Tests {
    @Test(
        "SHA256 gives the digests of FIPS 180-4, also at lengths where the padding changes",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (
                "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopq"
                    + "klmnopqrlmnopqrsmnopqrstnopqrstu",
                "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
            ),
            (
                String(repeating: "a", count: 55),
                "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"
            ),
            (
                String(repeating: "a", count: 56),
                "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"
            ),
            (
                String(repeating: "a", count: 57),
                "f13b2d724659eb3bf47f2dd6af1accc87b81f09f59f2b75e5c0bed6589dfe8c6"
            ),
            (
                String(repeating: "a", count: 63),
                "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"
            ),
            (
                String(repeating: "a", count: 64),
                "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"
            ),
            (
                String(repeating: "a", count: 65),
                "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"
            ),
            (
                String(repeating: "a", count: 119),
                "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"
            ),
            (
                String(repeating: "a", count: 120),
                "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"
            ),
            (
                String(repeating: "a", count: 127),
                "c57e9278af78fa3cab38667bef4ce29d783787a2f731d4e12200270f0c32320a"
            ),
            (
                String(repeating: "a", count: 128),
                "6836cf13bac400e9105071cd6af47084dfacad4e5e302c94bfed24e013afb73e"
            ),
            (
                String(repeating: "a", count: 129),
                "c12cb024a2e5551cca0e08fce8f1c5e314555cc3fef6329ee994a3db752166ae"
            ),
            (
                String(repeating: "a", count: 1_000_000),
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
            ),
        ])
    func examples(text: String, digest: String) {
        #expect(SHA256.digest(of: Data(text.utf8)).hexadecimal == digest)
    }

    @Test("A digest does not depend on how the bytes are cut", arguments: [1, 3, 63, 64, 65, 1000])
    func portions(size: Int) {
        let data = Data((0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        var hash = SHA256()
        var rest = data[...]
        while !rest.isEmpty {
            hash.update(rest.prefix(size))
            rest = rest.dropFirst(size)
        }
        #expect(hash.finalize() == SHA256.digest(of: data))
    }

    @Test("A digest may be taken in the middle, and copies go their own ways")
    func middle() {
        var hash = SHA256()
        hash.update(Data("ab".utf8))
        var copy = hash
        #expect(hash.finalize() == SHA256.digest(of: Data("ab".utf8)))
        hash.update(Data("c".utf8))
        copy.update(Data("d".utf8))
        #expect(hash.finalize() == SHA256.digest(of: Data("abc".utf8)))
        #expect(copy.finalize() == SHA256.digest(of: Data("abd".utf8)))
    }

    // The file is read in portions of 65,536 bytes.
    @Test(
        "A file has the digest of its content, also through a link",
        arguments: [0, 1, 65_535, 65_536, 65_537, 300_000])
    func file(size: Int) async throws {
        let folder = TemporaryFolder()
        let content = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 / 7) })
        let file = folder.url.appending(path: "a file")
        try content.write(to: file)
        try folder.link("link", to: "a file")
        #expect(try await SHA256.digest(ofFile: file) == SHA256.digest(of: content))
        let link = folder.url.appending(path: "link")
        #expect(try await SHA256.digest(ofFile: link) == SHA256.digest(of: content))
    }

    @Test(
        "What is no file, or is missing, is an error that names it and waits for nothing",
        arguments: [
            ("folder", "found a folder; expected a regular file"),
            ("pipe", "found a device or a pipe; expected a regular file"),
            ("missing", "No such file or directory"),
        ])
    func noFile(name: String, reason: String) async throws {
        let folder = TemporaryFolder()
        try folder.makeFolder("folder")
        try folder.makePipe("pipe")
        let fault = await #expect(throws: FileFault.self) {
            try await SHA256.digest(ofFile: folder.url.appending(path: name))
        }
        #expect(fault?.description.contains(folder[name]) == true)
        #expect(fault?.description.contains(reason) == true)
    }

    // It would take hours.
    @Test("The digest of a file ends soon after its task is cancelled")
    func cancellation() async throws {
        let folder = TemporaryFolder()
        try folder.write("", to: "sparse")
        let file = folder.url.appending(path: "sparse")
        try FileHandle(forWritingTo: file).truncate(atOffset: 1 << 40)
        let task = Task { try await SHA256.digest(ofFile: file) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
