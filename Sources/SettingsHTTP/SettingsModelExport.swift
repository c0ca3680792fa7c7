// What travels, and what settings are made of, belong to what a client says: one import is enough for a program.
@_exported public import SettingsAPI
@_exported public import SettingsModel
