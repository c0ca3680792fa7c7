import Testing

@testable import HTTPWire

struct FieldBlockTests {
    private static func text(_ block: FieldBlock) -> String {
        String(decoding: block.bytes, as: UTF8.self)
    }

    @Test("Text, bytes and numbers become lines")
    func lines() {
        var block = FieldBlock(reservingCapacity: 64)
        #expect(block.isEmpty)
        block.append("Cache-Control", "no-cache")
        block.append("ETag", text: "\"é\"")
        block.append("Allow", Array("GET, PUT".utf8).span)
        block.append("Retry-After", integer: 30)
        block.append("X", integer: .min)
        block.append("Y", integer: 0)
        var other = FieldBlock()
        other.append("Z", "")
        block.append(other)
        #expect(
            Self.text(block)
                == "Cache-Control: no-cache\r\nETag: \"é\"\r\nAllow: GET, PUT\r\nRetry-After: 30\r\n"
                + "X: -9223372036854775808\r\nY: 0\r\nZ: \r\n")
    }

    @Test("No value can end its line or bring in a control byte")
    func injection() {
        for byte in UInt8.min...UInt8.max {
            var block = FieldBlock()
            block.append("A", [0x61, byte, 0x62].span)
            let isControl = byte < 0x20 || byte == 0x7F
            #expect(block.bytes == Array("A: a".utf8) + [isControl ? 0x20 : byte] + Array("b\r\n".utf8))
        }
        var block = FieldBlock()
        block.append("A", text: "a\r\nSet-Cookie: b\r\n\r\n<html>\0")
        block.append("B", "c\nd")
        #expect(Self.text(block) == "A: a  Set-Cookie: b    <html> \r\nB: c d\r\n")
    }

    @Test("The fields of the message itself are the writer's alone")
    func names() {
        let offered: [StaticString] = ["ETag", "Settings-Cursor", "Datee"]
        let withheld: [StaticString] = [
            "Content-Length", "content-type", "Transfer-Encoding", "CONNECTION", "Date", "", "A B", "A:", "A\r\nB", "é",
        ]
        for name in offered { #expect(FieldBlock.isOfferedHere(name)) }
        for name in withheld { #expect(!FieldBlock.isOfferedHere(name)) }
    }
}
