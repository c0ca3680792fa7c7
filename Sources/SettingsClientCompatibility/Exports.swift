// A program that imports SettingsClientCompatibility can also use SettingsClient without an import of its own.
@_exported public import SettingsClient
