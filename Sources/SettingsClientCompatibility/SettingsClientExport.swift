// A program of a user of SwiftyUserDefaults needs one import.
@_exported public import SettingsClient
