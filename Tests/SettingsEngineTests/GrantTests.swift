import SettingsAPI
import SettingsEngine
import SettingsModel
import Testing

struct GrantTests {
    static let written: [(text: String, canonical: String)] = [
        ("app:read", "app:read"), ("app.*:write,read", "app.*:read,write"), ("*:admin", "*:admin"),
        ("*:reload,metrics", "*:metrics,reload"),
        ("app/player.*:write", "app/player.*:write"), ("app/a:b:read", "app/a:b:read"),
        ("app/a/b:read", "app/a/b:read"),
        ("*/x:secrets,override", "*/x:secrets,override"), ("app/*:schema", "app:schema"),
        ("A-b_c.9:read,read", "A-b_c.9:read"),
    ]

    @Test("A grant is written in its canonical form, which parses to the same grant", arguments: written)
    func canonicalForm(text: String, canonical: String) throws {
        #expect(try Grant(text).description == canonical)
        #expect(try Grant(canonical) == Grant(text))
    }

    static let refused: [(text: String, hint: String)] = [
        ("", "has no rights"), ("app", "has no rights"), ("app:", "is not a right"), ("app:reed", "did you mean read?"),
        ("app:read,", "is not a right"), ("app:read, write", "is not a right"),
        (":read", "not a pattern for suite names"), ("a*b:read", "not a pattern for suite names"),
        (".a:read", "not a pattern for suite names"), ("app/:read", "not a pattern for key names"),
        ("app:metrics", "*:metrics"), ("*/a:reload,read", "*:reload"), ("app:admin", "*:admin"),
        ("*/a:admin", "*:admin"), ("app/a:schema", "leave out the keys"),
        ("a b:read", "not a pattern"),
    ]

    @Test("Text that is not a grant is refused with the reason or the correct form", arguments: refused)
    func mistakes(text: String, hint: String) {
        #expect { try Grant(text) } throws: { "\($0)".contains(hint) }
    }

    // The scope `some` stands for at least one key of the suite, and `all` for the suite and all of its keys. The
    // rights `write`, `schema`, `secrets` and `override` include `read`, and `admin` includes `metrics` and `reload`.
    static let matching: [(grants: [String], right: Rights, suite: String, scope: Grants.Scope, isAllowed: Bool)] = [
        (["app:read"], .read, "app", .all, true), (["app:read"], .read, "app.x", .some, false),
        (["app.*:read"], .read, "app.x", .all, true), (["app.*:read"], .read, "app", .some, false),
        (["app.*:read"], .read, "APP.x", .some, false), (["app:write"], .read, "app", .all, true),
        (["app:secrets"], .read, "app", .all, true), (["app:read"], .write, "app", .some, false),
        (["app:write"], .secrets, "app", .some, false), (["*:admin"], .read, "app", .some, false),
        (["app/a:read"], .read, "app", .some, true), (["app/a:read"], .read, "app", .all, false),
        (["app/a:read"], .read, "app", .key("a"), true), (["app/a:read"], .read, "app", .key("ab"), false),
        (["app/a*:read"], .read, "app", .key("ab"), true), (["app/a*:read"], .read, "app", .prefix("ab"), true),
        (["app/a*:read"], .read, "app", .prefix(""), false), (["app/ab:read"], .read, "app", .prefix("ab"), false),
        (["app/e\u{301}:read"], .read, "app", .key("\u{E9}"), false),
        (["b:write", "app:read"], .write, "app", .some, false), (["*:admin"], .metrics, "app", .all, true),
        (["*:admin"], .reload, "app", .all, true), (["*:metrics"], .reload, "app", .some, false),
        (["*:metrics,reload"], .admin, "app", .some, false), (["*:metrics,reload"], .read, "app", .some, false),
    ]

    @Test("Grants allow only the rights that they name or include, on their suites and keys", arguments: matching)
    func matches(grants: [String], right: Rights, suite: String, scope: Grants.Scope, isAllowed: Bool) throws {
        #expect(Grants(try grants.map { try Grant($0) }).allows(right, on: suite, scope) == isAllowed)
    }

    @Test("The digest of grants does not depend on the process or on the order of the grants")
    func digest() throws {
        let (read, write) = (try Grant("app:read"), try Grant("app.*/player.*:write"))
        #expect(Grants([read]).digest == "ij8rxqi")
        #expect(Grants([read, write]).digest == "53i4i3j")
        #expect(Grants([write, read]).digest == "53i4i3j")
        #expect(Grants([]).digest.utf8.count == Epoch.digestLength)
    }
}
