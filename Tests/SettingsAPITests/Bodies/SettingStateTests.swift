import SettingsAPI
import SettingsModel
import Testing

/// `RefusedBody`: an invalid body, the pointer to the invalid part, and texts that the error contains.
struct SettingStateTests {
    static let time = #""modified":"2026-11-20T10:00:00.123Z""#
    static let violation = #"{"pointer":"","keyword":"type","detail":"must be an integer (got a string)"}"#

    @Test(
        "A setting is equal after writing and reading",
        arguments: [
            BodyCase(
                "a stored value",
                #"{"suite":"app","key":"launchCount","value":42,"source":"stored","revision":17,\#(time)}"#),
            BodyCase(
                "a default of a key that was never stored",
                #"{"suite":"app","key":"k","value":0,"source":"default","revision":0}"#
            ),
            BodyCase("unset", #"{"suite":"app","key":"k","value":null,"source":"unset","revision":3,\#(time)}"#),
            BodyCase(
                "a stored null", #"{"suite":"app","key":"k","value":null,"source":"stored","revision":3,\#(time)}"#),
            BodyCase(
                "invalid",
                #"{"suite":"app","key":"k","value":null,"source":"invalid","revision":3,\#(time),"#
                    + #""stored":"x","errors":[\#(violation)]}"#),
            BodyCase(
                "the answer to a write",
                #"{"suite":"app","key":"k","value":{"b":1,"a":2.0},"source":"stored","revision":18,\#(time),"#
                    + #""changed":true,"previous":{"value":0,"source":"default","revision":3}}"#),
            BodyCase(
                "the answer to the first write",
                #"{"suite":"app","key":"k","value":1,"source":"stored","revision":18,\#(time),"#
                    + #""changed":true,"previous":{"value":null,"source":"unset","revision":0}}"#),
            BodyCase(
                "a dry run and a replay",
                #"{"suite":"app","key":"k","value":1,"source":"stored","revision":18,\#(time),"#
                    + #""changed":false,"dryRun":true,"replayed":true}"#),
            BodyCase(
                "a secret, for a caller that may read it",
                #"{"suite":"app","key":"k","value":"s","source":"stored","revision":18,\#(time),"secret":true}"#),
            BodyCase(
                "a secret, for a caller that may not read it",
                #"{"suite":"app","key":"k","source":"stored","revision":18,\#(time),"secret":true,"changed":true}"#),
            BodyCase(
                "a source of a newer server",
                #"{"suite":"app","key":"k","value":5,"source":"inherited","revision":18,\#(time)}"#),
        ])
    func roundTrip(body: BodyCase) throws {
        try expectRoundTrip(body.text, as: SettingState.self)
    }

    @Test("Reading an answer ignores unknown members")
    func unknownMembers() throws {
        // The unknown members are `new` and `x`.
        let text = #"{"new":[{}],"suite":"app","key":"k","value":1,"source":"default","revision":0,"x":null}"#
        #expect(try SettingState(json: JSONValue(parsing: text)).value == 1)
    }

    @Test("A setting that is concealed from a caller without the right to read secrets has no value and no violation")
    func concealed() throws {
        // The text `hunter2` stands for the secret.
        let text =
            #"{"suite":"app","key":"k","value":"hunter2","source":"stored","revision":18,\#(Self.time),"#
            + #""stored":"hunter2","errors":[{"pointer":"","keyword":"k","detail":"hunter2"}],"#
            + #""changed":true,"previous":{"value":"hunter2","source":"stored","revision":3}}"#
        let setting = try expectRoundTrip(text, as: SettingState.self).concealed()
        #expect(!setting.jsonText().contains("hunter2"))
        #expect(setting.changed == true)
        #expect(try SettingState(json: JSONValue(parsing: setting.jsonBytes())) == setting)
    }

    @Test(
        "An invalid answer is refused with the pointer to the invalid member",
        arguments: [
            RefusedBody("an integer instead of an object", "42", stating: ["an object", "got an integer"]),
            RefusedBody("an empty object", "{}", stating: [#""source""#]),
            RefusedBody(
                "a negative revision", #"{"suite":"a","key":"k","value":1,"source":"stored","revision":-1}"#,
                at: "/revision", stating: ["a revision", "got a negative integer"]),
            RefusedBody(
                "an invalid suite name", #"{"suite":".","key":"k","value":1,"source":"stored","revision":1}"#,
                at: "/suite", stating: ["'.'"]),
            RefusedBody(
                "a violation with an invalid pointer",
                #"{"suite":"a","key":"k","value":null,"source":"invalid","revision":1,"errors":[{"pointer":"a"}]}"#,
                at: "/errors/0/pointer", stating: ["a JSON Pointer such as /player/volume", "got another string"]),
        ])
    func refused(body: RefusedBody) throws {
        try body.expectRefusal(as: SettingState.self)
    }
}
