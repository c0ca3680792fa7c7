import Platform
import Testing

/// Tests with the vectors of FIPS 180-2 and of the "SHA-2 short messages" of NIST, and with lengths near the end of a
/// block.
struct SHA256Tests {
    static let vectors: [(message: String, digest: String)] = [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
        ),
    ]

    @Test("A message has its published digest", arguments: vectors)
    func published(message: String, digest: String) {
        #expect(SHA256(Array(message.utf8).span).hex == digest)
    }

    @Test("A message of a million letters a has its published digest")
    func million() {
        let message = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)
        #expect(SHA256(message.span).hex == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    /// The digests of texts of `count` letters x, made with `sha256sum` of coreutils.
    static let lengths: [(count: Int, digest: String)] = [
        (1, "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"),
        (55, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072"),
        (56, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e"),
        (57, "ae14a2563ccf969d99aca69ce6bb74981f734bbf9f655f73b8f06db68cab5217"),
        (63, "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2"),
        (64, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c"),
        (65, "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9"),
        (119, "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c"),
        (120, "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98"),
        (128, "24da1b81d0b16df6428eee73c69fcb2a93c76bc6df706f0c6670fe6bfe800464"),
    ]

    @Test("A message that ends near the end of a block is padded correctly", arguments: lengths)
    func padding(count: Int, digest: String) {
        #expect(SHA256([UInt8](repeating: UInt8(ascii: "x"), count: count).span).hex == digest)
    }

    @Test("A digest is parsed from exactly 64 hexadecimal digits")
    func reading() {
        let hex = "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        #expect(SHA256(hex: hex)?.hex == hex)
        #expect(SHA256(hex: hex.uppercased()) == SHA256(hex: hex))
        for text in [
            "", String(hex.dropLast()), hex + "0", "x" + hex.dropFirst(), "+" + hex.dropFirst(), "-" + hex.dropFirst(),
            "-" + String(repeating: "0", count: 63),
        ] {
            #expect(SHA256(hex: text) == nil, "\(text)")
        }
    }
}
