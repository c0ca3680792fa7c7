internal import HTTPServer
internal import SettingsModel
internal import SettingsWeb

/// An option of the daemon: its name, its range, its help, and how it reads and writes its value in the configuration.
///
/// In error messages, `briefPhrase` shows a JSON value, or only its kind and its size if it is long.
///
/// The table `Option.all` is the only declaration of the options. The configuration file, the environment, the command
/// line, `--help` and `--print-config` all use the table, and tests compare the manual and the shipped configuration
/// file with it.
package struct Option: Sendable {
    /// A key path to the property of the configuration that stores the value.
    typealias Property<Value> = any WritableKeyPath<Configuration, Value> & Sendable

    /// The syntax of a value in an environment variable.
    enum VariableSyntax {
        /// Any text.
        case text
        /// A path. An empty variable means null.
        case path
        /// A value in the syntax of the configuration file, such as a number, `true` or an object.
        case json
        /// Elements separated by commas.
        case list
        /// Grants separated by commas, as `a.*:read,write,b.*:read`. An element without a colon continues a grant.
        case grants
    }

    /// The names of the objects that contain the option, and then its own name: `["limits", "connections"]`.
    let path: [String]
    /// The type and the range of the values, as the manual shows them, such as `integer, 1 to 64`.
    package let type: String
    /// One line for the manual and for `--help`, which ends the line at the first semicolon.
    package let help: String
    /// The placeholder for a value on the command line; nil if the command line does not have the option.
    package private(set) var placeholder: String?
    let variableSyntax: VariableSyntax
    /// True for the syntax `list`. The command line may then have the option several times.
    package var isList: Bool { variableSyntax == .list }
    /// True if a reload applies a new value. A new value of any other option takes effect at the next start.
    package private(set) var isReloadable = false
    /// Checks a value and stores it in the configuration. The second argument is the option's name in error messages.
    let read: @Sendable (JSONValue, String, inout Configuration) throws(ConfigurationError) -> Void
    /// Returns the value in the form that a configuration file has.
    let write: @Sendable (Configuration) -> JSONValue

    /// The full name, such as `limits.connections`.
    package var name: String { path.joined(separator: ".") }

    /// The name of the option on the command line.
    package var flag: String { "--\(name)" }

    init(
        _ name: String, type: String, _ help: String, variableSyntax: VariableSyntax = .text,
        read: @escaping @Sendable (JSONValue, String, inout Configuration) throws(ConfigurationError) -> Void,
        write: @escaping @Sendable (Configuration) -> JSONValue
    ) {
        path = name.utf8.split(separator: UInt8(ascii: ".")).map { String(decoding: $0, as: UTF8.self) }
        self.type = type
        self.help = help
        self.variableSyntax = variableSyntax
        self.read = read
        self.write = write
    }

    /// Returns a copy of the option that the command line accepts, too.
    func onCommandLine(_ placeholder: String) -> Option {
        var option = self
        option.placeholder = placeholder
        return option
    }
}

extension Option {
    /// Returns a copy of the option that a reload can change.
    func reloadable() -> Option {
        var option = self
        option.isReloadable = true
        return option
    }

    /// An option whose value is a path or null. `nullMeaning` is the meaning of null, for error messages.
    static func path(_ name: String, _ property: Property<String?>, nullMeaning: String, _ help: String) -> Option {
        Option(name, type: "path or null", help, variableSyntax: .path) {
            json, name, configuration throws(ConfigurationError) in
            switch json {
            case .null: configuration[keyPath: property] = nil
            case .string(let path): configuration[keyPath: property] = try DataLocation.path(path, named: name)
            default:
                throw ConfigurationError(
                    "\(name) is \(json.briefPhrase)", remedy: "it must be a path, or null for \(nullMeaning)")
            }
        } write: { configuration in
            configuration[keyPath: property].map { .string($0) } ?? .null
        }
    }

    static func integer(
        _ name: String, _ range: ClosedRange<Int>, _ property: Property<Int>, _ help: String
    ) -> Option {
        Option(name, type: "integer, \(range.lowerBound) to \(range.upperBound)", help, variableSyntax: .json) {
            json, name, configuration throws(ConfigurationError) in
            configuration[keyPath: property] = try integer(json, name, range)
        } write: { configuration in
            .integer(Int64(configuration[keyPath: property]))
        }
    }

    /// An option whose value is a time in whole seconds. The configuration stores nanoseconds.
    static func seconds(
        _ name: String, _ range: ClosedRange<Int>, _ property: Property<UInt64>, _ help: String
    ) -> Option {
        Option(name, type: "integer, \(range.lowerBound) to \(range.upperBound)", help, variableSyntax: .json) {
            json, name, configuration throws(ConfigurationError) in
            configuration[keyPath: property] = UInt64(try integer(json, name, range)) * TransportLimits.second
        } write: { configuration in
            .integer(Int64(configuration[keyPath: property] / TransportLimits.second))
        }
    }

    static func bool(_ name: String, _ property: Property<Bool>, _ help: String) -> Option {
        Option(name, type: "boolean", help, variableSyntax: .json) {
            json, name, configuration throws(ConfigurationError) in
            guard let value = json.bool else {
                throw ConfigurationError("\(name) is \(json.briefPhrase)", remedy: "it must be true or false")
            }
            configuration[keyPath: property] = value
        } write: { configuration in
            .bool(configuration[keyPath: property])
        }
    }

    /// An option whose value is one of the words of an enumeration.
    static func word<Word: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: String, _ property: Property<Word>, _ help: String
    ) -> Option {
        let words = Word.allCases.map(\.rawValue)
        return Option(name, type: words.joined(separator: ", "), help) {
            json, name, configuration throws(ConfigurationError) in
            guard let word = Word.allCases.first(where: { json.string?.hasSameBytes(as: $0.rawValue) ?? false })
            else {
                let nearest = json.string.flatMap { NameSuggestion.nearest(to: $0, among: words).first }
                throw ConfigurationError(
                    "\(name) is \(json.briefPhrase)",
                    remedy: nearest.map { "did you mean \($0)?" }
                        ?? "it must be one of \(words.joined(separator: ", "))")
            }
            configuration[keyPath: property] = word
        } write: { configuration in
            .string(configuration[keyPath: property].rawValue)
        }
    }

    /// An option whose value is a list of strings. `read` converts each string to an element, and `write` converts an
    /// element to a string.
    ///
    /// - Parameter single: if not nil, the option also accepts a string instead of a list with one element. The text
    ///   describes this string in error messages.
    static func list<Element: Sendable>(
        _ name: String, _ count: ClosedRange<Int>, of elements: String, orOne single: String? = nil,
        _ property: Property<[Element]>, _ help: String,
        read: @escaping @Sendable (String, _ name: String) throws(ConfigurationError) -> Element,
        write: @escaping @Sendable (Element) -> String
    ) -> Option {
        let range = "\(count.lowerBound) to \(count.upperBound) \(elements)"
        return Option(name, type: "list of \(range)", help, variableSyntax: .list) {
            json, name, configuration throws(ConfigurationError) in
            if single != nil, let text = json.string {
                configuration[keyPath: property] = [try read(text, name)]
                return
            }
            guard let texts = json.array, count.contains(texts.count) else {
                let found = json.array.map { "has \($0.count) elements" } ?? "is \(json.briefPhrase)"
                throw ConfigurationError(
                    "\(name) \(found)", remedy: "it must be \(single.map { "\($0) or " } ?? "")a list of \(range)")
            }
            var list: [Element] = []
            for (index, json) in texts.enumerated() {
                guard let text = json.string else {
                    throw ConfigurationError(
                        "\(name)[\(index)] is \(json.briefPhrase)", remedy: "it must be a string")
                }
                list.append(try read(text, "\(name)[\(index)]"))
            }
            configuration[keyPath: property] = list
        } write: { configuration in
            .array(configuration[keyPath: property].map { .string(write($0)) })
        }
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
}
