import SettingsClient

func settings(of program: String) -> DefaultsAdapter<DefaultsKeys> {
    // says: a name that is made at run time is checked first: suite: try SuiteName(name)
    DefaultsAdapter(suite: "com.example.\(program)", keyStore: DefaultsKeys())
}
