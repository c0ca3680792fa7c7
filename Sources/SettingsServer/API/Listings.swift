internal import SettingsModel

extension State {
    /// The suites whose names begin with a prefix, in order: a page of those.
    func listing(prefix: String, after: String?, limit: Int) -> SuiteListing {
        var listing = SuiteListing(suites: [], revision: revision)
        let start = after.map { prefix.precedesInBytes($0) ? $0 : prefix } ?? prefix
        suites.forEach(startingAt: start) { suite in
            guard suite.name.hasBytePrefix(prefix) else { return false }
            if let after, !after.precedesInBytes(suite.name) { return true }
            guard listing.suites.count < limit else {
                listing.next = listing.suites.last?.suite
                return false
            }
            listing.suites.append(
                SuiteListing.Entry(
                    suite: suite.id, keyCount: Int64(suite.keyCount), revision: suite.revision,
                    hasSchema: suite.schema != nil))
            return true
        }
        return listing
    }
}

extension Suite {
    /// The keys that begin with a prefix, in order, with all that is known of each: a page of those.
    ///
    /// A page also ends where it gets too long, since a schema for many keys is repeated with each of them.
    func listing(prefix: String, after: String?, limit: Int) -> KeyListing {
        let page = keys(prefix: prefix, after: after, limit: limit)
        var allowance = Self.heaviestPage
        var entries: [KeyListing.Entry] = []
        for record in page.records {
            let document = schema.flatMap { version in
                version.schema.key(record.name).map { version.schema.standaloneDocument(of: $0) }
            }
            let entry = KeyListing.Entry(
                setting: setting(record), schema: document, isWritable: admits(record.key) && !isLocked(record.key))
            let isLight = (entry.schema ?? .null).isWithin(&allowance) && (record.stored ?? .null).isWithin(&allowance)
            guard isLight || entries.isEmpty else { break }
            entries.append(entry)
        }
        let hasMore = page.hasMore || entries.count < page.records.count
        return KeyListing(suite: id, revision: revision, keys: entries, next: hasMore ? entries.last?.setting.key : nil)
    }

    /// About 64 MB of text.
    private static let heaviestPage = 8 << 20
}
