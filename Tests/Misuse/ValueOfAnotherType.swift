// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsKeys

func store(in codec: KeyCodec<Int>) throws {
    // error: cannot convert value of type 'String' to expected argument type 'Int'
    _ = try codec.encode("42")
}
