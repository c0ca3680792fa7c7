import Foundation
import SettingsModel
import Synchronization
import Testing

@testable import SettingsKeys

/// Tests of the limit of nesting in encoded and decoded values. `Chain` and `Shell` (`Specimens.swift`) are recursive
/// types: a `Chain` has one level of JSON for each link, and a `Shell` adds no level of JSON. `Script`
/// (`CodingSupport.swift`) is a value that a closure encodes. `encodingOutcome` and `decodingOutcome` return the error.
struct CodableDepthTests {
    static let tooDeep = "is nested more than 128 levels deep"

    /// JSON with this number of levels. Each level is an object whose member `next` contains the next level.
    private func nestedObjects(_ levels: Int) -> JSONValue {
        (1..<levels).reduce(JSONValue.object([:])) { json, _ in ["next": json] }
    }

    @Test("Values with the maximum number of levels of JSON text encode and decode")
    func deepest() throws {
        #expect(try encoded(Chain.ofLinks(JSONValue.maximumDepth)) == nestedObjects(JSONValue.maximumDepth))
        _ = try ValueDecoder.decode(
            Chain.self, from: nestedObjects(JSONValue.maximumDepth), allowsNonFinite: false)
    }

    @Test("Encoding or decoding a value with one level more than the maximum throws an error with the path")
    func tooDeepByOne() {
        let location = JSONPointer(Array(repeating: "next", count: JSONValue.maximumDepth))
        let expected = BridgeError(at: location, Self.tooDeep)
        #expect(throws: expected) { try encoded(Chain.ofLinks(JSONValue.maximumDepth + 1)) }
        #expect(throws: expected) {
            try ValueDecoder.decode(
                Chain.self, from: nestedObjects(JSONValue.maximumDepth + 1), allowsNonFinite: false)
        }
    }

    @Test("Encoding a value that contains itself throws an error")
    func cycle() {
        let chain = Chain(next: nil)
        chain.next = chain
        defer { chain.next = nil }
        #expect(encodingOutcome(of: chain).hasSuffix(Self.tooDeep))
    }

    @Test("Endless encoding or decoding that adds no level of JSON throws an error")
    func shells() throws {
        // The value contains itself. Decoding `Shell` reads a `Shell` from the same JSON again.
        let shell = Shell(inner: nil)
        shell.inner = shell
        defer { shell.inner = nil }
        #expect(encodingOutcome(of: ["a": shell]) == "at /a: " + Self.tooDeep)
        #expect(try decodingOutcome([Shell].self, "[null]") == "at /0: " + Self.tooDeep)
    }

    @Test("Encoding into 100,000 nested containers throws an error")
    func containers() {
        let script = Script { encoder in
            var container = encoder.unkeyedContainer()
            for _ in 0..<100_000 { container = container.nestedUnkeyedContainer() }
        }
        #expect(encodingOutcome(of: script).hasSuffix("/0/0/0/0: " + Self.tooDeep))
        let parents = Script { encoder in
            var encoder = encoder
            for _ in 0..<100_000 {
                var container = encoder.container(keyedBy: AnyKey.self)
                encoder = container.superEncoder()
            }
        }
        #expect(encodingOutcome(of: parents).hasSuffix("/super/super: " + Self.tooDeep))
    }

    @Test("The levels of a JSONValue inside a value are added to the levels around the JSONValue")
    func json() throws {
        #expect(try encoded([nestedObjects(JSONValue.maximumDepth - 1)]) == [nestedObjects(JSONValue.maximumDepth - 1)])
        #expect(encodingOutcome(of: [nestedObjects(JSONValue.maximumDepth)]) == "at /0: " + Self.tooDeep)
    }

    @Test("A value of 125 levels with optional parts survives a round trip")
    func wrapped() throws {
        final class Tree: Codable {
            var branches: [[String: Tree?]?]

            init(_ branches: [[String: Tree?]?]) {
                self.branches = branches
            }
        }
        // Each of the 42 trees has three levels of JSON, except the innermost tree, which has two: 125 of 128 levels.
        let tree = (1..<42).reduce(Tree([])) { tree, _ in Tree([["a": tree]]) }
        #expect(try encoded(afterRoundTrip(tree)) == encoded(tree))
    }

    @Test("Encoding and decoding the deepest values fits a stack of 1 MiB, also in a debug build")
    func smallStack() throws {
        let done = DispatchSemaphore(value: 0)
        let results = Mutex<[String]>([])
        let thread = Thread {
            let encodedChain = encodingOutcome(of: Chain.ofLinks(JSONValue.maximumDepth + 1))
            let shell = Shell(inner: nil)
            shell.inner = shell
            let encodedShell = encodingOutcome(of: shell)
            shell.inner = nil
            let depth = JSONValue.maximumDepth
            let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            indirect enum Nest: Decodable {
                case list([Nest?])

                init(from decoder: any Decoder) throws {
                    self = .list(try decoder.singleValueContainer().decode([Nest?].self))
                }
            }
            let nest = (try? decoded(Nest.self, text)) == nil ? "nest failed" : "nest decoded"
            let decodedShell = (try? decodingOutcome(Shell.self, "null")) ?? ""
            results.withLock { $0 = [encodedChain, encodedShell, nest, decodedShell] }
            done.signal()
        }
        thread.stackSize = 1024 * 1024
        thread.start()
        done.wait()
        let outcomes = results.withLock { $0 }
        // Only the third value, the nested arrays, is within the limit.
        #expect(outcomes.map { $0.hasSuffix(Self.tooDeep) } == [true, true, false, true])
        #expect(outcomes.contains("nest decoded"))
    }
}
