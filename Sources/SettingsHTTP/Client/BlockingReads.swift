public import SettingsAPI
public import SettingsModel

/// Reading, on the thread that calls.
extension SettingsClient.Blocking {
    /// What the daemon says of itself: name, version, place in history.
    public func service() throws(SettingsError) -> ServiceDescription {
        try send(.service)
    }

    /// Throws unless the process works.
    public func checkHealth() throws(SettingsError) {
        try send(.health)
    }

    /// Throws why writes would not be taken now, if they would not.
    public func checkReadiness() throws(SettingsError) {
        try send(.readiness)
    }

    /// What is counted, in the text form of Prometheus.
    public func metrics() throws(SettingsError) -> String {
        try send(.metrics)
    }

    /// The description of the interface for programs, an OpenAPI document.
    public func interfaceDescription() throws(SettingsError) -> JSONValue {
        try send(.interface)
    }

    /// A page of the suites. When there are more, `next` is where to go on: as `after`.
    public func suites(prefix: String? = nil, after: SuiteName? = nil, limit: Int? = nil) throws(SettingsError)
        -> Answer<SuiteListing>
    {
        try send(.suites(prefix: prefix, after: after, limit: limit))
    }

    /// The values of a suite, or of its keys that begin with a prefix; with `at`, as it was after that commit.
    public func suite(
        _ suite: SuiteName, view: ValueView = .effective, prefix: String? = nil, at moment: Revision? = nil
    ) throws(SettingsError) -> SuiteState {
        try send(.suite(suite, view: view, prefix: prefix, at: moment))
    }

    /// The suite once it is at another revision than this one; nil if it still is after the wait.
    public func suite(_ suite: SuiteName, changedFrom revision: Revision, wait: Duration? = nil) throws(SettingsError)
        -> SuiteState?
    {
        try send(.suite(suite, changedFrom: revision, wait: wait))
    }

    /// A page of the keys of a suite with all that is known of each. When there are more, `next` is where to go on.
    public func keys(
        of suite: SuiteName, prefix: String? = nil, after: KeyName? = nil, limit: Int? = nil, at moment: Revision? = nil
    ) throws(SettingsError) -> Answer<KeyListing> {
        try send(.keys(of: suite, prefix: prefix, after: after, limit: limit, at: moment))
    }

    /// One setting. Throws `notSet` if it has no value, and `invalidStored` if what is stored does not fit the schema.
    public func setting(_ key: KeyName, in suite: SuiteName) throws(SettingsError) -> Answer<SettingState> {
        try send(.setting(key, in: suite))
    }

    /// The setting once it is at another revision than this one; nil if it still is after the wait.
    public func setting(_ key: KeyName, in suite: SuiteName, changedFrom revision: Revision, wait: Duration? = nil)
        throws(SettingsError) -> Answer<SettingState>?
    {
        try send(.setting(key, in: suite, changedFrom: revision, wait: wait))
    }

    /// The schema of a suite as it was sent. Throws `noSchema` if there is none.
    public func schema(of suite: SuiteName) throws(SettingsError) -> SchemaDocument {
        try send(.schema(of: suite))
    }

    /// One answer of what happened in a suite: the state without `since`, else all that came after it, as soon as there is
    /// something or the wait is over. `latest` tells each key once.
    public func observe(
        _ suite: SuiteName, since place: ResumePoint? = nil, wait: Duration? = nil, keys: [KeyName] = [],
        prefixes: [String] = [], limit: Int? = nil, latest: Bool = false
    ) throws(SettingsError) -> SettingsObservation {
        try send(
            .observe(
                Watched(scope: .one(suite), keys: keys, prefixes: prefixes), since: place, wait: wait,
                limit: limit, latest: latest))
    }

    /// The same of several suites: those that are named, and all whose names begin with one of `suitePrefixes`, as they come
    /// and go.
    public func observe(
        _ suites: [SuiteName], suitePrefixes: [String] = [], since place: ResumePoint? = nil, wait: Duration? = nil,
        keys: [KeyName] = [], prefixes: [String] = [], limit: Int? = nil, latest: Bool = false
    ) throws(SettingsError) -> SettingsObservation {
        try send(
            .observe(
                Watched(scope: .several(suites, prefixes: suitePrefixes), keys: keys, prefixes: prefixes),
                since: place, wait: wait, limit: limit, latest: latest))
    }

    /// All suites, page by page. What changes meanwhile may be seen in the one page and not in the next.
    public func allSuites(prefix: String? = nil) throws(SettingsError) -> [SuiteListing.Entry] {
        var page = try suites(prefix: prefix)
        var entries = page.suites
        var place: SuiteName?
        while let next = try Paging.step(from: place, to: page.next) {
            place = next
            page = try suites(prefix: prefix, after: next)
            entries += page.suites
        }
        return entries
    }

    /// All keys of a suite, page by page. What changes meanwhile may be seen in the one page and not in the next, unless
    /// it is asked how the suite was `at` a revision.
    public func allKeys(of suite: SuiteName, prefix: String? = nil, at moment: Revision? = nil) throws(SettingsError)
        -> [KeyListing.Entry]
    {
        var page = try keys(of: suite, prefix: prefix, at: moment)
        var entries = page.keys
        var place: KeyName?
        while let next = try Paging.step(from: place, to: page.next) {
            place = next
            page = try keys(of: suite, prefix: prefix, after: next, at: moment)
            entries += page.keys
        }
        return entries
    }
}
