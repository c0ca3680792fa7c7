import SettingsKeys
import Testing

/// Tests of the differences between the keys of a program and the schema on the server. `SampleKeys.swift` declares the
/// sample keys.
struct SchemaComparisonTests {
    /// The differences between a key and a schema that lists the key with this document.
    private func differences(
        _ key: some AnyDefaultsKey, _ document: JSONValue, definitions: JSONValue = [:]
    ) throws -> [SchemaDifference] {
        let schema = try Schema([
            "type": "object", "additionalProperties": false, "$defs": definitions, "properties": [key.name: document],
        ])
        return try schema.differences(from: key)
    }

    @Test("A schema made from keys does not differ from any of the keys")
    func itself() throws {
        let store = SampleKeys()
        let keys: [any AnyDefaultsKey] = [
            store.username, store.nickname, store.launchCount, store.volume, store.gain, store.retries, store.ceiling,
            store.ratio, store.code, store.slug, store.motto, store.fruit, store.size, store.token, store.libraries,
            store.extra, store.window, store.visits, store.balance, store.recent, store.tags, store.equalizer.bass,
            DefaultsKey<UInt64>("u", defaultValue: 1, in: 1...), DefaultsKey<Int8?>("i"),
            DefaultsKey<[Fruit: [Int?]]>(
                "d", defaultValue: [:]), DefaultsKey<Range<Double>>("r", defaultValue: 0..<1),
        ]
        let schema = try Schema(keys: keys)
        let read = try Schema(JSONValue(parsing: schema.description))
        for key in keys {
            #expect(try schema.differences(from: key) == [])
            #expect(try read.differences(from: key) == [])
        }
    }

    /// Keys, and documents with the same meaning in another form.
    static let sameMeaning: [(any AnyDefaultsKey, JSONValue)] = [
        (
            DefaultsKey<Int>("k", defaultValue: 3, in: 1..<10),
            ["type": "integer", "minimum": 1, "maximum": 9, "default": 3]
        ),
        (
            DefaultsKey<Double>("k", defaultValue: 0.5, in: 0...1),
            ["type": ["number"], "minimum": 0, "maximum": 1, "default": 0.5, "description": "how loud", "x-unit": "1"]
        ),
        (DefaultsKey<Int?>("k"), ["type": "integer", "minimum": .integer(.min)]),
        (DefaultsKey<Double?>("k"), ["type": ["integer", "number"]]),
        (DefaultsKey<String?>("k", maxLength: 3), ["allOf": [["type": "string"], ["maxLength": 3]], "minLength": 0]),
        (DefaultsKey<String?>("k", maxLength: 3), ["$ref": "#/$defs/short"]),
        (DefaultsKey<Fruit?>("k", allowed: [.apple]), ["const": "apple"]),
        (DefaultsKey<Fruit?>("k"), ["type": "string", "enum": ["pear", "apple", "apple"]]),
        (DefaultsKey<Int?>("k", allowed: [1, 2]), ["enum": [2.0, 1]]),
        (DefaultsKey<[Int]?>("k"), ["type": "array", "items": ["$ref": "#/$defs/whole"], "minItems": 0]),
        (DefaultsKey<Set<Int>?>("k"), ["type": "array", "items": ["type": "integer"], "uniqueItems": true]),
    ]

    @Test(
        "A document with the same meaning in another form does not differ from the key",
        arguments: Self.sameMeaning.indices)
    func spellings(_ index: Int) throws {
        let (key, document) = Self.sameMeaning[index]
        let definitions: JSONValue = [
            "short": ["type": "string", "maxLength": 3], "whole": ["type": "integer", "title": "a whole number"],
        ]
        // A generic function, because the type of `key` is `any AnyDefaultsKey`.
        func differences(_ key: some AnyDefaultsKey) throws -> [SchemaDifference] {
            try self.differences(key, document, definitions: definitions)
        }
        #expect(try differences(key) == [])
    }

    /// Keys, documents with another meaning, and the sentences that report the differences. A sentence says `stores`
    /// instead of `allows` if no value has both types. A `UInt64` beyond Int64 is stored as a string.
    static let differing: [(any AnyDefaultsKey, JSONValue, [String])] = [
        (
            DefaultsKey<Double>("player.volume", defaultValue: 0.5, in: 0...1),
            ["type": "number", "minimum": 0, "maximum": 2, "default": 0.5],
            ["player.volume: the program allows 0...1, the server 0...2"]
        ),
        (
            DefaultsKey<Int>("k", defaultValue: 0), ["type": "string", "default": "0"],
            [
                "k: the program stores an integer, the server a string",
                #"k: the default of the program is 0, the default of the server "0""#,
            ]
        ),
        (
            DefaultsKey<Int?>("k"), ["type": "number"],
            ["k: the program allows an integer, the server allows a number"]
        ),
        (
            DefaultsKey<Int?>("k"), ["type": ["integer", "string"], "exclusiveMaximum": 10],
            [
                "k: the program allows an integer, the server allows an integer or a string",
                "k: the program allows any integer, the server ...9",
            ]
        ),
        (
            DefaultsKey<Int>("k", defaultValue: 1), ["type": "integer"],
            [
                "k: the default of the program is 1, the default of the server none"
            ]
        ),
        (
            DefaultsKey<Int?>("k"), ["type": "integer", "default": 1],
            [
                "k: the default of the program is none, the default of the server 1"
            ]
        ),
        (DefaultsKey<Int?>("k"), true, ["k: the program allows an integer, the server allows any value"]),
        (
            DefaultsKey<Double?>("k", in: ..<1), ["type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5],
            [
                "k: the program allows ..<1, the server more than 0",
                "k: rules other than types and limits differ between the program and the server",
            ]
        ),
        (
            DefaultsKey<String?>("k", maxLength: 4), ["type": "string", "minLength": 1, "maxLength": 8],
            ["k: the program allows at most 4 characters, the server 1 to 8 characters"]
        ),
        (
            DefaultsKey<Fruit?>("k"), ["enum": ["apple", "plum"]],
            [#"k: the program allows "apple", "pear", the server "apple", "plum""#]
        ),
        (
            DefaultsKey<[Int]?>("k"), ["type": "array", "items": ["type": "string"], "maxItems": 3],
            [
                "k: the program allows any number of elements, the server at most 3 elements",
                "k: rules other than types and limits differ between the program and the server",
            ]
        ),
        (
            DefaultsKey<UInt64?>("k"), ["type": "object"],
            ["k: the program stores an integer or a string, the server an object"]
        ),
    ]

    @Test("Each difference is reported as a sentence that begins with the key", arguments: Self.differing.indices)
    func sentences(_ index: Int) throws {
        let (key, document, sentences) = Self.differing[index]
        func differences(_ key: some AnyDefaultsKey) throws -> [SchemaDifference] {
            try self.differences(key, document)
        }
        #expect(try differences(key).map(\.sentence) == sentences)
    }

    @Test(
        "A difference of types is reported with the aspect type, a difference of element types with the aspect limits")
    func aspects() throws {
        let ofType = try differences(DefaultsKey<Int>("k", defaultValue: 0), ["type": "string", "default": "x"])
        #expect(ofType.map(\.aspect) == [.type, .defaultValue] && ofType.map(\.key) == ["k", "k"])
        let ofElements = try differences(DefaultsKey<[Int]?>("k"), ["type": "array", "items": ["type": "string"]])
        #expect(ofElements.map(\.aspect) == [.limits], "both types allow the empty array")
    }

    @Test("If the type of a key has no rules for its values, rules in the schema are not a difference")
    func typesWithoutRules() throws {
        let window = DefaultsKey<Window?>("k")
        #expect(try differences(window, ["type": "object", "required": ["title"]]) == [])
        #expect(try differences(DefaultsKey<[Window]?>("k"), ["type": "array", "items": ["type": "object"]]) == [])
        #expect(
            try differences(DefaultsKey<JSONValue?>("k"), ["type": "integer", "default": 1]).map(\.aspect) == [
                .defaultValue
            ])
    }

    @Test("The differences of a secret report a missing writeOnly, and do not contain the default")
    func secrets() throws {
        let key = DefaultsKey<String>("token", defaultValue: "hunter2", secret: true)
        let differences = try differences(key, ["type": "string", "default": "swordfish"])
        #expect(
            differences.map(\.sentence) == [
                "token: the default of the program differs from the default of the server",
                "token: the key is a secret for the program, but not for the server",
            ])
        #expect(try self.differences(key, ["type": "string", "default": "hunter2", "writeOnly": true]) == [])
        #expect(
            try self.differences(key, ["type": "string", "writeOnly": true]) == [],
            "the schema may hide the default of a secret")
    }

    @Test("A key that the schema does not allow is reported with the nearest name")
    func missingKeys() throws {
        let schema = try Schema(of: SampleKeys.self) {
            \.username; \.volume
        }
        let missing = try schema.differences(from: DefaultsKey<String?>("usrname"))
        #expect(missing.map(\.sentence) == ["usrname: the server's schema has no such key; did you mean username?"])
        #expect(missing.map(\.aspect) == [.key])
    }

    @Test("For a key that the schema allows without listing it, only the type is compared")
    func unlistedKeys() throws {
        let open = try Schema(of: SampleKeys.self, additionalProperties: true) { \.username }
        #expect(try open.differences(from: DefaultsKey<Int>("k", defaultValue: 1, in: 0...3)) == [])
        let strings = try Schema(of: SampleKeys.self, additionalProperties: ["type": "string"]) { \.username }
        #expect(try strings.differences(from: DefaultsKey<String>("k", defaultValue: "", maxLength: 3)) == [])
        #expect(try strings.differences(from: DefaultsKey<Int>("k", defaultValue: 1)).map(\.aspect) == [.type])
    }

    @Test("The comparison of a listed key includes the rules of each pattern that matches the key")
    func patterns() throws {
        let schema = try Schema([
            "type": "object", "additionalProperties": false, "patternProperties": ["^player\\.": ["maximum": 1]],
            "properties": [
                "player.volume": ["type": "number", "minimum": 0, "default": 0.5], "other": ["type": "number"],
            ],
        ])
        #expect(try schema.differences(from: SampleKeys().volume) == [])
        #expect(try schema.differences(from: DefaultsKey<Double?>("other")) == [])
    }

    @Test(
        "A schema with exponentially many paths of references is compared in a short time", .timeLimit(.minutes(1)),
        arguments: ["allOf", "anyOf"])
    func hostile(_ keyword: String) throws {
        // Each definition refers twice to the previous definition, so d29 leads to d0 along 2²⁹ paths.
        var definitions: JSONObject = ["d0": ["type": "integer"]]
        for level in 1..<30 {
            let reference: JSONValue = .object(["$ref": .string("#/$defs/d\(level - 1)")])
            definitions["d\(level)"] = .object([keyword: [reference, reference]])
        }
        let key = DefaultsKey<Int?>("k")
        #expect(try differences(key, ["$ref": "#/$defs/d29"], definitions: .object(definitions)) == [])
    }
}

struct ComparedKeywordTests {
    /// Each keyword that restricts values, with a key whose type the keyword concerns.
    private static let keywords: [(any AnyDefaultsKey, JSONObject)] = {
        let text = DefaultsKey<String?>("k")
        let number = DefaultsKey<Double?>("k")
        let array = DefaultsKey<[String]?>("k")
        let object = DefaultsKey<[String: String]?>("k")
        return [
            (text, ["type": ["string", "null"]]), (text, ["enum": ["a"]]), (text, ["const": "a"]),
            (text, ["$ref": "#/$defs/a"]), (text, ["allOf": [["minLength": 1]]]),
            (text, ["anyOf": [["minLength": 1], ["pattern": "a"]]]),
            (text, ["oneOf": [["minLength": 1], ["pattern": "a"]]]),
            (text, ["not": ["const": "a"]]), (text, ["allOf": [["not": ["const": "a"]]]]),
            (text, ["if": ["const": "a"], "then": false]),
            (text, ["minLength": 1]), (text, ["maxLength": 1]), (text, ["pattern": "a"]), (text, ["format": "uuid"]),
            (text, ["contentEncoding": "base64"]), (number, ["minimum": 1]), (number, ["maximum": 1]),
            (number, ["exclusiveMinimum": 1]), (number, ["exclusiveMaximum": 1]), (number, ["multipleOf": 2]),
            (array, ["items": ["maxLength": 1]]), (array, ["prefixItems": [["maxLength": 1]]]),
            (array, ["contains": ["const": "a"]]), (array, ["minItems": 1]), (array, ["maxItems": 1]),
            (array, ["uniqueItems": true]), (object, ["properties": ["a": ["maxLength": 1]]]),
            (object, ["patternProperties": ["a": ["maxLength": 1]]]),
            (object, ["additionalProperties": ["maxLength": 1]]),
            (object, ["propertyNames": ["maxLength": 1]]), (object, ["required": ["a"]]),
            (object, ["dependentRequired": ["a": ["b"]]]), (object, ["dependentSchemas": ["a": ["required": ["b"]]]]),
            (object, ["minProperties": 1]), (object, ["maxProperties": 1]),
        ]
    }()

    @Test(
        "A keyword that restricts values, and that only the schema has, is reported as a difference",
        arguments: Self.keywords.indices)
    func everyKeyword(_ index: Int) throws {
        let (key, keyword) = Self.keywords[index]
        var document = try key.schemaDocument()
        #expect(try differences(of: key, .object(document)) == [])
        for member in keyword { document[member.name] = member.value }
        #expect(try !differences(of: key, .object(document)).isEmpty)
    }

    private func differences(of key: some AnyDefaultsKey, _ document: JSONValue) throws -> [SchemaDifference] {
        let schema = try Schema([
            "type": "object", "additionalProperties": false, "$defs": ["a": ["maxLength": 1]],
            "properties": [key.name: document],
        ])
        return try schema.differences(from: key)
    }
}
