// What settings are made of belongs to what a client says: one import is enough for a program.
@_exported public import SettingsKeys
