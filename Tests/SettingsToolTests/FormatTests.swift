import Foundation
import TestSupport
import Testing

/// Tests of property lists and keyfiles with the built program, and with other programs that write them: `plistlib` of
/// Python, and dconf.
@Suite(.ownThread)
struct FormatTests {
    private let shell: Shell

    init() throws {
        shell = try Shell(hasSchema: false)
    }

    private func importFile(_ name: String, _ text: String, into suite: String = "app") throws -> ChildProcess.End {
        try shell.settings("import", suite, try shell.directory.file(name, text), "--quiet")
    }

    /// Runs a Python program, which can use `plistlib` and `datetime`, in the directory of the test. Returns its
    /// output.
    private func python(_ program: String) throws -> String {
        let end = try shell.run(
            "python3 '\(try shell.directory.file("program.py", "import plistlib, datetime\n" + program))'")
        guard end.code == 0 else { throw ChildProcess.Failure(description: "\(end)") }
        return end.output
    }

    /// Values that a format could lose: numbers of each size, arrays whose elements have one type or several types, and
    /// texts with characters that have a meaning in a format.
    private static let values = #"""
        {"a/b/c":"in a group","big":9223372036854775807,"small":-9223372036854775808,"byte":255,"word":65536,"double":1.0,
        "minusZero":-0.0,"tiny":2.2250738585072014e-308,"huge":1.7976931348623157e308,"third":0.1,"emptyText":"","no":false,"yes":true,
        "list":[1,"2",{"b":[],"a":-1.5}],"same":[1,5000000000],"texts":["a","b"],"nested":[[1],[2]],"mixed":[[1],[]],"empty":[],
        "object":{"z":{"y":[true]},"é":1,"e\u0301":2,"":3,"a=b":"c"},"emptyObject":{},"lines":"a\nb\r\nc\rd\t","quotes":"it's \"$x\" <&> ]]> \\ ",
        "umlaut":"é€😀","blanks":"  a  ","date":"2026-11-20T10:00:00Z","data":"AAEC/w==","accent":"'\u0301"}
        """#

    @Test("import of an exported file restores the values exactly", arguments: ["plist", "bplist", "dconf"])
    func roundTrip(format: String) throws {
        #expect(try importFile("values.json", Self.values).code == 0)
        let exported = try shell.runSettings("export", "app")
        let end = try shell.run(
            "settings export app --format \(format) >values.\(format) && settings import copy values.\(format) --quiet")
        #expect(end == ChildProcess.End(code: 0, output: "", errors: ""))
        #expect(try shell.runSettings("export", "copy") == exported)
    }

    @Test("export ends with an error that names exactly the keys whose name or value the format cannot represent")
    func unrepresentableValues() throws {
        #expect(
            try importFile(
                "values.json",
                #"{"good":1,"null":null,"in":[{"a":null}],"bell":"\u0007","zero":"\u0000","a=b":1,"/x":1,"tiny":5e-324}"#
            ).code == 0)
        for (format, keys) in [
            (
                "plist",
                [
                    "null: a property list has no null", "in: a property list has no null",
                    "bell: XML cannot represent", "zero: XML cannot represent",
                ]
            ),
            ("bplist", ["null: a property list has no null", "in: a property list has no null"]),
            ("dconf", ["zero: GVariant cannot", "a=b: a key of dconf", "/x: a key of dconf", "tiny: GVariant cannot"]),
        ] {
            let end = try shell.settings("export", "app", "--format", format)
            #expect(end.code == 1 && end.output.isEmpty)
            // A line about the file comes before the lines about the keys.
            #expect(end.errors.split(separator: "\n").count == keys.count + 1, "\(format): \(end.errors)")
            for key in keys { #expect(end.errors.contains("\n  \(key)"), "\(format): \(end.errors)") }
        }
    }

    @Test(
        "import reads dates, data, nested values and unusual keys in a property list of another program",
        arguments: ["XML", "BINARY"])
    func foreignPropertyList(format: String) throws {
        let expected = #"""
            {"data":"AP9hYmM=","date":"2026-11-20T10:00:00Z","deep":{"a":[{"b":[1,2.5,true]}]},"long":"xxxxxxxxxxxxxxxxxxxx",
            "negative":-129,"text & <tags>":"é 😀 ]]>","whole":3.0,"Ünïcode key":18446744073709}
            """#
        _ = try python(
            """
            deep = {"a": [{"b": [1, 2.5, True]}]}
            values = {"data": b"\\0\\xffabc", "date": datetime.datetime(2026, 11, 20, 10), "deep": deep, "long": "x" * 20,
                "negative": -129, "text & <tags>": "é 😀 ]]>", "whole": 3.0, "Ünïcode key": 18446744073709}
            plistlib.dump(values, open("values.plist", "wb"), fmt=plistlib.FMT_\(format))
            """)
        try shell.runSettings("import", "app", "\(shell.directory.path)/values.plist", "--quiet")
        #expect(try importFile("expected.json", expected, into: "copy").code == 0)
        #expect(try shell.runSettings("export", "app") == shell.runSettings("export", "copy"))
    }

    @Test(
        "export writes a date or data in a property list if the schema has format date-time or contentEncoding base64",
        arguments: ["plist", "bplist"])
    func typedPropertyList(format: String) throws {
        let schema = """
            {"type":"object","additionalProperties":true,"properties":{"at":{"type":"string","format":"date-time"},
             "local":{"type":"string","format":"date-time"},"icon":{"contentEncoding":"base64"},
             "times":{"items":{"format":"date-time"}},"box":{"properties":{"icon":{"contentEncoding":"base64"}}}}}
            """
        try shell.runSettings("schema", "apply", "app", try shell.directory.file("schema.json", schema))
        // A date in a property list has no offset from UTC, so `local` stays a string.
        let values = #"""
            {"at":"2026-11-20T10:00:00Z","local":"2026-11-20T10:00:00+01:00","icon":"AAEC","times":["1601-01-01T00:00:00Z"],"box":{"icon":"/w=="},"plain":"AAEC"}
            """#
        #expect(try importFile("values.json", values).code == 0)
        #expect(try shell.run("settings export app --format \(format) >values.plist").code == 0)
        let file = URL(fileURLWithPath: "\(shell.directory.path)/values.plist")
        let read = try PropertyListSerialization.propertyList(from: Data(contentsOf: file), format: nil)
        // The numbers are the instants of `at` and of `times` in seconds since 1970.
        let expected: NSDictionary = [
            "at": Date(timeIntervalSince1970: 1_795_168_800), "local": "2026-11-20T10:00:00+01:00",
            "icon": Data([0, 1, 2]), "times": [Date(timeIntervalSince1970: -11_644_473_600)],
            "box": ["icon": Data([255])], "plain": "AAEC",
        ]
        #expect(read as? NSDictionary == expected)
        let shown = try python(
            "v = plistlib.load(open('values.plist', 'rb')); print(v['at'], v['icon'], v['box'], v['local'])")
        #expect(shown == "2026-11-20 10:00:00 b'\\x00\\x01\\x02' {'icon': b'\\xff'} 2026-11-20T10:00:00+01:00\n")
        #expect(try shell.runSettings("import", "app", file.path) == "nothing to change\n")
    }

    @Test("A date with fractions of a second is a date in a binary property list if import can restore its exact text")
    func fractionOfDate() throws {
        let schema = #"{"type":"object","additionalProperties":{"type":"string","format":"date-time"}}"#
        try shell.runSettings("schema", "apply", "app", try shell.directory.file("schema.json", schema))
        let values = #"{"a":"2026-11-20T10:00:00.123Z","b":"1999-12-31T23:59:59.5Z","c":"2026-11-20T10:00:00.1230Z"}"#
        #expect(try importFile("values.json", values).code == 0)
        #expect(try shell.run("settings export app --format bplist >values.plist").code == 0)
        #expect(try shell.runSettings("import", "app", "\(shell.directory.path)/values.plist") == "nothing to change\n")
        let shown = try python(
            "print({k: type(v).__name__ for k, v in plistlib.load(open('values.plist','rb')).items()})")
        #expect(shown == "{'a': 'datetime', 'b': 'datetime', 'c': 'str'}\n")
    }

    @Test(
        "import refuses a malformed property list, and the message names the cause",
        arguments: [
            ("<plist><dict><key>a</key></dict></plist>", "expected an element"),
            ("<plist><dict><key>a</key><integer>1</integer><key>a</key><true/></dict></plist>", "'a' occurs twice"),
            ("<plist>\n<array/></plist>", "is not a dictionary"),
            ("<plist><dict><key>a</key>\n<integer>9223372036854775808</integer></dict></plist>", "line 2: '92233720"),
            ("<plist><dict><key>a</key><integer>1 2</integer></dict></plist>", "'1 2' is not a signed 64-bit integer"),
            (
                "<?xml version='1.0' encoding='ISO-8859-1'?><plist><dict/></plist>",
                "the file declares the encoding ISO-8859-1, and the program reads UTF-8 only"
            ),
            ("<plist><dict><key>a</key><real>nan</real></dict></plist>", "'nan' is not a finite number"),
            ("<plist><dict><key>a</key><date>today</date></dict></plist>", "'today' is not a date"),
            ("<plist><dict><key>a</key><data>x</data></dict></plist>", "data is not Base64"),
            ("<plist><dict><key>a</key><string>x</dict></plist>", "expected </string>"),
            ("<plist><dict><key>a</key><url>x</url></dict></plist>", "<url> is not an element of a property list"),
            ("<plist><dict><key>a</key><string>&x;</string></dict></plist>", "&x; is not an entity"),
            ("<!DOCTYPE p [<!ENTITY x 'y'>]><plist><dict/></plist>", "a property list cannot have this declaration"),
            ("<plist><dict/></plist><dict/>", "unexpected text after the end"), ("bplist00", "cut short"),
            ("bplist00" + String(repeating: "x", count: 40), "damaged at byte"), ("", "expected an element"),
        ])
    func malformedPropertyList(text: String, message: String) throws {
        let end = try importFile("values.plist", text)
        #expect(end.code == 1 && end.errors.contains(message), "\(end.errors)")
    }

    @Test("An integer beyond the signed 64-bit range in a binary property list is refused with the name of its key")
    func largeIntegerInBinary() throws {
        _ = try python(
            "plistlib.dump({'a': 1, 'big one': [{'x': 2**63}]}, open('big.plist', 'wb'), fmt=plistlib.FMT_BINARY)")
        let end = try shell.run("settings import app big.plist")
        let message = ": big one: 9223372036854775808 is not a signed 64-bit integer\n"
        #expect(end.code == 1 && end.errors.hasSuffix(message), "\(end)")
    }

    @Test("import refuses a binary property list that contains itself, and does not crash on a damaged property list")
    func damagedBinary() throws {
        // `itself` is a dictionary whose member `a` refers to the dictionary. The other files differ in one byte from
        // a correct file.
        _ = try python(
            """
            good = plistlib.dumps({"a": [1, "é", b"x"], "b": {"c": 2.5}}, fmt=plistlib.FMT_BINARY)
            for offset in range(0, len(good), 4):
                open(f"bad{offset}.plist", "wb").write(good[:offset] + bytes([good[offset] ^ 0x95]) + good[offset + 1:])
            itself = b"bplist00" + b"\\xd1\\x01\\x00" + b"\\x51a" + bytes([8, 11]) + bytes(6) + bytes([1, 1])
            itself += (2).to_bytes(8) + (0).to_bytes(8) + (13).to_bytes(8)
            open("itself.plist", "wb").write(itself)
            """)
        let end = try shell.run("settings import app itself.plist")
        #expect(end.code == 1 && end.errors.contains("the value is nested too deeply"), "\(end)")
        let codes = try shell.run(
            "for file in bad*.plist; do settings import app $file --dry-run >out 2>&1; echo $?; done | sort -u")
        #expect(codes.output.split(separator: "\n").allSatisfy { ["0", "1"].contains($0) }, "\(codes.output)")
    }

    @Test("import reads values in the text format of GVariant")
    func gvariant() throws {
        let rows: [(text: String, json: String)] = [
            ("true", "true"), ("-5", "-5"), ("010", "8"), ("0x1F", "31"), ("+3", "3"), ("byte 0x41", "65"),
            ("uint32 5", "5"), ("int64 5000000000", "5000000000"), ("uint64 7", "7"), ("handle 1", "1"),
            ("1.0", "1.0"), ("-0.0", "-0.0"), ("1e3", "1000.0"), ("double 5", "5.0"), ("@d 5", "5.0"), ("''", #""""#),
            (#""it's""#, #""it's""#), (#"'it\'s'"#, #""it's""#), (#"'a\n\t\\\"\u00e9\U0001f600'"#, #""a\n\t\\\"é😀""#),
            ("objectpath '/a/b'", #""/a/b""#), ("signature 'as'", #""as""#), ("@as []", "[]"), ("[]", "[]"),
            ("['a', 'b']", #"["a","b"]"#), ("[1, 2.5]", "[1.0,2.5]"), ("[<1>, <2.5>]", "[1,2.5]"), ("@ad [1]", "[1.0]"),
            ("[int64 1, 5000000000]", "[1,5000000000]"), ("('a', 1, true)", #"["a",1,true]"#), ("(1,)", "[1]"),
            ("()", "[]"), ("[('xkb', 'us')]", #"[["xkb","us"]]"#), ("{'a': <1>, 'b': <'x'>}", #"{"a":1,"b":"x"}"#),
            ("@a{sv} {}", "{}"), ("{1: 'x'}", #"{"1":"x"}"#), ("{'k', 1}", #"["k",1]"#), ("<<'x'>>", #""x""#),
            ("@ms nothing", "null"), ("@ms 'x'", #""x""#), ("just 5", "5"), ("b'ab\\377'", "[97,98,255,0]"),
            ("[byte 0x01, 0x02]", "[1,2]"), ("@(sa{sv}) ('a', {'b': <@ai [1]>})", #"["a",{"b":[1]}]"#),
        ]
        var (keyfile, json) = ("[/]\n", [String]())
        for (number, row) in rows.enumerated() {
            keyfile += "k\(number) = \(row.text)  \n"
            json.append("\"k\(number)\":\(row.json)")
        }
        #expect(try importFile("values.dconf", keyfile) == ChildProcess.End(code: 0, output: "", errors: ""))
        #expect(try importFile("values.json", "{\(json.joined(separator: ","))}", into: "copy").code == 0)
        #expect(try shell.runSettings("export", "app") == shell.runSettings("export", "copy"))
    }

    @Test(
        "import refuses a malformed keyfile, and the message names the cause",
        arguments: [
            ("a=1", "line 1: the file must begin with a group header"),
            ("[/]\n# x\nab", "line 3: expected [GROUP] or KEY=VALUE"),
            ("[/x]\na=1", "line 1: '/x' is not a group"), ("[/]\na=1\n[/]\na=2", "line 4: a occurs twice"),
            ("[/]\na='x", "a quote is not closed"), ("[/]\na=1 2", "unexpected text after the value"),
            ("[/]\na=[1", "expected ',' or ']'"), ("[/]\na=nan", "'nan' is not a text in quotes"),
            ("[/]\na=", "expected a value"),
            ("[/]\na=uint64 18446744073709551615", "'18446744073709551615' is not a text"),
            ("[/]\na=byte 300", "does not have the type y"),
            ("[/]\na=@q 'x'", "does not have the type q"), ("[/]\na=@z 1", "expected a type"),
            ("[/]\na=hello", "'hello' is not a text"),
            ("[/]\na={'x': 1, 'x': 2}", "occurs twice"), ("[/]\na='\\ud83d'", "\\u needs 4 hexadecimal digits"),
        ])
    func malformedKeyfile(text: String, message: String) throws {
        let end = try importFile("values.dconf", text)
        #expect(end.code == 1 && end.errors.contains(message), "\(end.errors)")
    }

    @Test(
        "dconf reads an exported file, import reads the dump of dconf, and x-gvariant in the schema sets the GVariant type"
    )
    func realDconf() throws {
        // The value -1 of `wrong` does not fit the type `u` (unsigned), so `export` writes a plain integer.
        let schema = """
            {"type":"object","additionalProperties":true,"properties":{"count":{"type":"integer","x-gvariant":"u"},
             "sources":{"x-gvariant":"a(ss)"},"wrong":{"x-gvariant":"u"}}}
            """
        try shell.runSettings("schema", "apply", "app", try shell.directory.file("schema.json", schema))
        #expect(try importFile("values.json", Self.values).code == 0)
        try shell.runSettings("set", "app", "--json", "count=5", #"sources=[["xkb","us"]]"#, "wrong=-1", "null=null")
        let exported = try shell.runSettings("export", "app")
        let end = try shell.run(
            """
            mkdir files && settings export app --format dconf >files/app && dconf compile database files &&
            echo "file-db:$HOME/database" >profile && DCONF_PROFILE=$HOME/profile dconf dump / >dump.dconf &&
            settings import copy dump.dconf --quiet && grep -E '^(count|sources|wrong|null)=' dump.dconf
            """)
        #expect(
            end
                == ChildProcess.End(
                    code: 0, output: "count=uint32 5\nnull=@mv nothing\nsources=[('xkb', 'us')]\nwrong=-1\n", errors: ""
                ))
        #expect(try shell.runSettings("export", "copy") == exported)
    }
}
