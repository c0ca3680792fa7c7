internal import HTTPWire
internal import SettingsModel

/// A path that the caller probably meant by one that leads nowhere.
///
/// It is made of the path and the table of resources alone, so it tells nothing of what is stored.
struct PathSuggestion {
    let path: String
    /// Whether the key was written with a slash of its own.
    let escapesSlash: Bool

    /// The most probable path; nil if none is near.
    init?(for path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let isEmpty = { (part: String) in part.isEmpty }
        // Extra slashes at either end are ignored. An empty name in between cannot be guessed.
        let names = Array(parts.drop(while: isEmpty).reversed().drop(while: isEmpty).reversed())
        guard !names.contains(where: isEmpty) else { return nil }
        let best = Self.readings(of: names).flatMap { reading in
            Resource.allCases.compactMap { resource in reading.fit(resource) }
        }
        .min { $0.cost < $1.cost }
        guard let best else { return nil }
        self.path = best.path
        escapesSlash = best.escapesSlash
    }

    /// That there is nothing at a path.
    static func problem(at path: String) -> Problem {
        guard let meant = PathSuggestion(for: path) else {
            return Problem(
                .unknownPath, "there is nothing at this path; \(Resource.service.rawValue) tells what there is")
        }
        let reason = meant.escapesSlash ? "a / in a key is written %2F: " : ""
        var problem = Problem(.unknownPath, "there is nothing at this path; \(reason)did you mean \(meant.path)?")
        problem.didYouMean = [meant.path]
        return problem
    }

    /// The ways to read the names of a path, each with what it takes to read them so.
    private static func readings(of names: [String]) -> [PathReading] {
        guard let first = names.first else { return [PathReading(names: ["v1"], cost: 0)] }
        let versioned = first.isNear("v1") ? names : ["v1"] + names
        var readings = [PathReading(names: names, cost: 0), PathReading(names: versioned, cost: 1)]
        if versioned.count > 1, first.isNear("v1") {
            readings.append(PathReading(names: Array(names.dropFirst()), cost: 1))
        }
        if versioned.count == 4 {
            readings.append(PathReading(names: versioned[..<3] + ["keys", versioned[3]], cost: 2))
        }
        if versioned.count > 5 {
            let key = versioned[4...].joined(separator: "%2F")
            readings.append(PathReading(names: versioned[..<4] + [key], cost: 1, escapesSlash: true))
        }
        return readings
    }
}

/// The names of a path, as they may have been meant.
private struct PathReading {
    let names: [String]
    let cost: Int
    var escapesSlash = false

    /// The path of a resource that has names in the places of these; nil if a word of its path is none of them.
    func fit(_ resource: Resource) -> (path: String, cost: Int, escapesSlash: Bool)? {
        let template = resource.rawValue.split(separator: "/").map(String.init)
        guard template.count == names.count else { return nil }
        var (path, cost) = ("", cost)
        for (word, name) in zip(template, names) {
            if word.hasPrefix("{") {
                path += "/\(name)"
                continue
            }
            guard name.isNear(word) else { return nil }
            if !name.hasSameBytes(as: word) { cost += 1 }
            path += "/\(word)"
        }
        return (path, cost, escapesSlash)
    }
}

extension String {
    /// Whether this may be a misspelling of a word.
    fileprivate func isNear(_ word: String) -> Bool {
        !NameSuggestion.nearest(to: self, among: [word]).isEmpty
    }
}
