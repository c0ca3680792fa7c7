import SettingsKeys

extension DefaultsKeys {
    // says: a key that is not optional needs a defaultValue:, as readers get that while nothing is stored
    var launchCount: DefaultsKey<Int> { .init("launchCount") }
}
