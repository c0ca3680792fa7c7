import SettingsClient
import SettingsClientCompatibility
import TestSupport
import Testing

/// Launch arguments for settings without declared keys.
@Suite(.ownThread)
struct UntypedArgumentsTests {
    private let defaults: DefaultsAdapter<ClientKeys>

    init() throws {
        let fixture = try BackendKind.memory.fixture()
        // `-key value` gives a text, which is converted when it is read. `--set key=value` gives JSON.
        defaults = fixture.adapter(arguments: [
            "-count", "3", "-on", "true", "-list", "[1]", "-n", "many", "--set", "json=[2]", "-map", #"{"a":1}"#,
        ])
        defaults["n"] = 5
        defaults["json"] = 6
    }

    @Test
    func `A launch argument is converted to the requested type`() {
        let count: Int? = defaults["count"]
        let ratio: Double? = defaults["count"]
        let text: String? = defaults["count"]
        let isOn: Bool? = defaults["on"]
        let list: [Int]? = defaults["list"]
        #expect(count == 3 && ratio == 3 && text == "3" && isOn == true && list == [1])
        #expect(defaults["count"].int == 3 && defaults["count"].string == "3" && defaults["on"].bool == true)
        #expect(defaults["list"].array == [1] && defaults["map"].dictionary == ["a": 1])
        #expect(defaults["list"].value == "[1]" && defaults["json"].value == [2])
    }

    @Test
    func `A launch argument that cannot be converted leaves the stored value effective`() {
        let number: Int? = defaults["n"]
        let words: [String]? = defaults["n"]
        #expect(number == 5 && words == nil)
        #expect(defaults["n"].int == 5 && defaults["n"].double == 5 && defaults["n"].bool == true)
        #expect(defaults["n"].string == "many" && defaults["json"].int == 6 && defaults["json"].array == [2])
    }
}
