// A program that imports SettingsClientCompatibility does not have to import SettingsClient.
@_exported public import SettingsClient
