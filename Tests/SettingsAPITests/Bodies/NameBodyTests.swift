import SettingsAPI
import SettingsModel
import Testing

struct NameBodyTests {
    @Test("An invalid name in a body is refused with the reason that the type of the name gives")
    func inBodies() throws {
        #expect(try bodyError("\".x\"", as: SuiteName.self)?.detail == "a suite name must not start with '.'")
        #expect(try bodyError("\"\"", as: KeyName.self)?.detail == "a key must not be empty")
        #expect(try bodyError("7", as: KeyName.self)?.detail == "must be a string (got an integer)")
    }
}
