internal import SettingsModel

/// One member of the configuration file: its name, what it may hold, and where that goes.
struct ConfigurationMember: Sendable {
    /// The name, after that of the group that it belongs to, if it does: `limits`, `connections`.
    let path: [String]
    /// Takes the value in.
    let read: @Sendable (JSONValue, inout Configuration) throws(ConfigurationError) -> Void
    /// The value as it would stand in a file.
    let write: @Sendable (Configuration) -> JSONValue

    /// The whole name, as `limits.connections`.
    var name: String { path.joined(separator: ".") }
}

extension ConfigurationMember {
    /// Where a value of the configuration is kept.
    typealias Target<Value> = any WritableKeyPath<Configuration, Value> & Sendable

    /// A whole number within bounds.
    static func integer(_ name: String, _ range: ClosedRange<Int>, _ target: Target<Int>) -> ConfigurationMember {
        ConfigurationMember(path: split(name)) { json, configuration throws(ConfigurationError) in
            configuration[keyPath: target] = try integer(json, name, range)
        } write: { configuration in
            .integer(Int64(configuration[keyPath: target]))
        }
    }

    /// A time in whole seconds, kept in nanoseconds.
    static func seconds(_ name: String, _ range: ClosedRange<Int>, _ target: Target<UInt64>) -> ConfigurationMember {
        ConfigurationMember(path: split(name)) { json, configuration throws(ConfigurationError) in
            configuration[keyPath: target] = UInt64(try integer(json, name, range)) * TransportLimits.second
        } write: { configuration in
            .integer(Int64(configuration[keyPath: target] / TransportLimits.second))
        }
    }

    /// True or false.
    static func flag(_ name: String, _ target: Target<Bool>) -> ConfigurationMember {
        ConfigurationMember(path: split(name)) { json, configuration throws(ConfigurationError) in
            guard let value = json.bool else {
                throw ConfigurationError("\(name) is \(json.briefPhrase)", remedy: "it must be true or false")
            }
            configuration[keyPath: target] = value
        } write: { configuration in
            .bool(configuration[keyPath: target])
        }
    }

    /// One of a closed set of words.
    static func word<Word>(_ name: String, _ target: Target<Word>) -> ConfigurationMember
    where Word: RawRepresentable<String> & CaseIterable & Sendable {
        ConfigurationMember(path: split(name)) { json, configuration throws(ConfigurationError) in
            configuration[keyPath: target] = try word(json.string, name, shown: json.briefPhrase)
        } write: { configuration in
            .string(configuration[keyPath: target].rawValue)
        }
    }

    /// A list of texts, each of which must make an element.
    ///
    /// - Parameter single: what a text is called that may stand for a list of itself, if one may.
    static func list<Element: Sendable>(
        _ name: String, _ count: ClosedRange<Int>, of what: String, orOne single: String? = nil,
        _ target: Target<[Element]>,
        read: @escaping @Sendable (String, _ place: String) throws(ConfigurationError) -> Element,
        write: @escaping @Sendable (Element) -> String
    ) -> ConfigurationMember {
        ConfigurationMember(path: split(name)) { json, configuration throws(ConfigurationError) in
            if single != nil, let text = json.string {
                configuration[keyPath: target] = [try read(text, name)]
                return
            }
            guard let elements = json.array, count.contains(elements.count) else {
                let found = json.array.map { "has \($0.count) elements" } ?? "is \(json.briefPhrase)"
                throw ConfigurationError(
                    "\(name) \(found)",
                    remedy:
                        "it must be \(single.map { "\($0) or " } ?? "")a list of \(count.lowerBound) to \(count.upperBound) \(what)"
                )
            }
            var list: [Element] = []
            for (index, element) in elements.enumerated() {
                let place = "\(name)[\(index)]"
                guard let text = element.string else {
                    throw ConfigurationError("\(place) is \(element.briefPhrase)", remedy: "it must be a string")
                }
                list.append(try read(text, place))
            }
            configuration[keyPath: target] = list
        } write: { configuration in
            .array(configuration[keyPath: target].map { .string(write($0)) })
        }
    }

    /// Reads one of a closed set of words, wherever it stands.
    ///
    /// - Parameter shown: how what was given is repeated.
    static func word<Word: RawRepresentable<String> & CaseIterable>(
        _ text: String?, _ name: String, shown: String
    ) throws(ConfigurationError) -> Word {
        let words = Word.allCases.map(\.rawValue)
        guard let text else {
            throw ConfigurationError(
                "\(name) is \(shown)", remedy: "it must be one of \(words.joined(separator: ", "))")
        }
        guard let word = Word.allCases.first(where: { $0.rawValue.hasSameBytes(as: text) }) else {
            let nearest = NameSuggestion.nearest(to: text, among: words).first
            throw ConfigurationError(
                "\(name) is \(shown)",
                remedy: nearest.map { "did you mean \($0)?" } ?? "it must be one of \(words.joined(separator: ", "))")
        }
        return word
    }

    private static func integer(
        _ json: JSONValue, _ name: String, _ range: ClosedRange<Int>
    ) throws(ConfigurationError) -> Int {
        guard let value = json.integer, let number = Int(exactly: value), range.contains(number) else {
            throw ConfigurationError(
                "\(name) is \(json.briefPhrase)",
                remedy: "it must be an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private static func split(_ name: String) -> [String] {
        name.utf8.split(separator: UInt8(ascii: ".")).map { String(decoding: $0, as: UTF8.self) }
    }
}
