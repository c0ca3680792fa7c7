import SettingsAPI
import SettingsModel
import Testing

struct NameBodyTests {
    @Test("A body that is not a valid name is refused with the reason")
    func inBodies() throws {
        #expect(try bodyError("\".x\"", as: SuiteName.self)?.detail == "a suite name must not start with '.'")
        #expect(try bodyError("\"\"", as: KeyName.self)?.detail == "a key must not be empty")
        #expect(try bodyError("7", as: KeyName.self)?.detail == "must be a string (got an integer)")
    }
}
