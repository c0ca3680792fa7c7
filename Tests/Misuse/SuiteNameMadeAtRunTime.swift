// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsClient

func settings(of program: String) -> DefaultsAdapter<DefaultsKeys> {
    // error: check a name that is computed at run time: suite: try SuiteName(name)
    DefaultsAdapter(suite: "com.example.\(program)", keyStore: DefaultsKeys())
}
