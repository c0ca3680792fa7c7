// Keys are made of what the module below has: one import is enough for a program.
@_exported public import SettingsModel
