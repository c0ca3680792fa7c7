import Foundation
import SettingsModel
import Synchronization
import Testing

@testable import SettingsKeys

struct CodableDepthTests {
    static let tooDeep = "is nested more than 128 levels deep"

    /// JSON with this number of levels. Each level is an object whose member `next` contains the next level.
    private func chain(_ levels: Int) -> JSONValue {
        (1..<levels).reduce(JSONValue.object([:])) { json, _ in ["next": json] }
    }

    @Test("Values with the maximum number of levels of JSON text encode and decode")
    func deepest() throws {
        #expect(try encoded(Chain.ofLinks(JSONValue.maximumDepth)) == chain(JSONValue.maximumDepth))
        _ = try ValueDecoder.decode(
            Chain.self, from: chain(JSONValue.maximumDepth), allowsNonFinite: false)
    }

    @Test("Encoding or decoding a value with one level more than the maximum throws an error with the path")
    func tooDeepByOne() {
        let location = JSONPointer(Array(repeating: "next", count: JSONValue.maximumDepth))
        let expected = BridgeError(at: location, Self.tooDeep)
        #expect(throws: expected) { try encoded(Chain.ofLinks(JSONValue.maximumDepth + 1)) }
        #expect(throws: expected) {
            try ValueDecoder.decode(
                Chain.self, from: chain(JSONValue.maximumDepth + 1), allowsNonFinite: false)
        }
    }

    @Test("Encoding a value that contains itself throws an error")
    func cycle() {
        let chain = Chain(next: nil)
        chain.next = chain
        defer { chain.next = nil }
        #expect(refusal(of: chain).hasSuffix(Self.tooDeep))
    }

    @Test("Endless encoding or decoding that adds no level of JSON throws an error")
    func shells() throws {
        let shell = Shell(inner: nil)
        shell.inner = shell
        defer { shell.inner = nil }
        #expect(refusal(of: ["a": shell]) == "at /a: " + Self.tooDeep)
        #expect(try refusal([Shell].self, "[null]") == "at /0: " + Self.tooDeep)
    }

    @Test("Encoding into 100,000 nested containers throws an error")
    func containers() {
        let script = Script { encoder in
            var container = encoder.unkeyedContainer()
            for _ in 0..<100_000 { container = container.nestedUnkeyedContainer() }
        }
        #expect(refusal(of: script).hasSuffix("/0/0/0/0: " + Self.tooDeep))
        let parents = Script { encoder in
            var encoder = encoder
            for _ in 0..<100_000 {
                var container = encoder.container(keyedBy: AnyKey.self)
                encoder = container.superEncoder()
            }
        }
        #expect(refusal(of: parents).hasSuffix("/super/super: " + Self.tooDeep))
    }

    @Test("The levels of a JSONValue inside a value are added to the levels around the JSONValue")
    func json() throws {
        #expect(try encoded([chain(JSONValue.maximumDepth - 1)]) == [chain(JSONValue.maximumDepth - 1)])
        #expect(refusal(of: [chain(JSONValue.maximumDepth)]) == "at /0: " + Self.tooDeep)
    }

    @Test("A value with optional parts at every level survives a round trip up to the depth limit")
    func wrapped() throws {
        final class Tree: Codable {
            var branches: [[String: Tree?]?]

            init(_ branches: [[String: Tree?]?]) {
                self.branches = branches
            }
        }
        let tree = (1..<42).reduce(Tree([])) { tree, _ in Tree([["a": tree]]) }
        #expect(try encoded(afterRoundTrip(tree)) == encoded(tree))
    }

    @Test("Encoding and decoding the deepest values fits a stack of 1 MiB, also in a debug build")
    func smallStack() throws {
        let done = DispatchSemaphore(value: 0)
        let results = Mutex<[String]>([])
        let thread = Thread {
            let chain = refusal(of: Chain.ofLinks(JSONValue.maximumDepth + 1))
            let shell = Shell(inner: nil)
            shell.inner = shell
            let shells = refusal(of: shell)
            shell.inner = nil
            let text = String(repeating: "[", count: 128) + String(repeating: "]", count: 128)
            indirect enum Nest: Decodable {
                case list([Nest?])

                init(from decoder: any Decoder) throws {
                    self = .list(try decoder.singleValueContainer().decode([Nest?].self))
                }
            }
            let nest = (try? decoded(Nest.self, text)) == nil ? "nest failed" : "nest decoded"
            let endless = (try? refusal(Shell.self, "null")) ?? ""
            results.withLock { $0 = [chain, shells, nest, endless] }
            done.signal()
        }
        thread.stackSize = 1024 * 1024
        thread.start()
        done.wait()
        let reasons = results.withLock { $0 }
        #expect(reasons.map { $0.hasSuffix(Self.tooDeep) } == [true, true, false, true])
        #expect(reasons.contains("nest decoded"))
    }
}
