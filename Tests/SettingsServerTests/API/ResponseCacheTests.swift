import Dispatch
import HTTPWire
import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport
import Testing

@testable import HTTPServer
@testable import SettingsWeb

/// The cache of the last rendered answer for each answer key. Requests with the same revisions share an answer.
@Suite(.ownThread)
struct ResponseCacheTests {
    private var cache = ResponseCache()

    /// The kind of the answer, here `noChanges`, is a part of the key, and otherwise has no effect on the cache.
    private func answerKey(_ suite: String) throws -> AnswerKey {
        AnswerKey(WatchSubject(try SuiteName(suite)), .noChanges)
    }

    private func revision(_ number: Int64) -> Revision { Revision(number) ?? .zero }

    /// Inserts the answer to a client that has the revision `known`, when the newest revision is `number`.
    private mutating func insert(_ body: [UInt8], _ suite: String, after known: Int64 = 0, at number: Int64) throws {
        let epoch = try #require(Epoch("e0"))
        let entry = ResponseCache.Entry(
            clientRevision: revision(known), revision: revision(number),
            cursor: Cursor(epoch: epoch, revision: revision(number)), response: Response(status: 200, body: body))
        cache.insert(entry, for: try answerKey(suite))
    }

    private mutating func body(_ suite: String, after known: Int64 = 0, at number: Int64) throws -> [UInt8]? {
        cache.response(to: try answerKey(suite), after: revision(known), at: revision(number))?.body
    }

    @Test("The cache finds an answer by key and revisions until it gets a newer answer with the same key")
    mutating func keys() throws {
        try insert([1], "a", after: 1, at: 5)
        for _ in 0..<2 {
            #expect(try body("a", after: 1, at: 5) == [1])
            #expect(try body("a", after: 2, at: 5) == nil)
            #expect(try body("a", after: 1, at: 6) == nil)
            #expect(try body("b", after: 1, at: 5) == nil)
        }
        try insert([2], "a", after: 1, at: 6)
        #expect(try body("a", after: 1, at: 6) == [2])
        #expect(try body("a", after: 1, at: 5) == nil)
    }

    @Test("The cache is emptied before it would exceed 8 MiB or 64 answers, and an answer above 8 MiB is not cached")
    mutating func limits() throws {
        // Two of these answers fit into the cache.
        let long = [UInt8](repeating: 0, count: 3 << 20)
        for suite in ["a", "b", "c"] { try insert(long, suite, at: 1) }
        #expect(try ["a", "b", "c"].map { try body($0, at: 1) != nil } == [false, false, true])
        // A newer answer with the same key replaces the older answer, so the cache has one answer.
        for _ in 0..<5 { try insert(long, "c", at: 2) }
        try insert(long, "d", at: 2)
        #expect(try body("c", at: 2) != nil)
        try insert([UInt8](repeating: 0, count: 9 << 20), "e", at: 2)
        #expect(try body("e", at: 2) == nil)
        // The cache is emptied once, before it would have 65 answers.
        for number in 0..<100 { try insert([1], "s\(number)", at: 3) }
        #expect(try body("s0", at: 3) == nil)
        #expect(try body("s99", at: 3) == [1])
    }
}
