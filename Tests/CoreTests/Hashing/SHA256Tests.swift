import Foundation
import Testing
import TurnpikeSupport

@testable import TurnpikeCore

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
                String(repeating: "a", count: 55),
                "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"
            ),
            (
                String(repeating: "a", count: 56),
                "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"
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
                String(repeating: "a", count: 1_000_000),
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
            ),
        ])
    func examples(text: String, digest: String) {
        #expect(SHA256.digest(Data(text.utf8)).hexadecimal == digest)
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
        #expect(hash.finish() == SHA256.digest(data))
    }
}
