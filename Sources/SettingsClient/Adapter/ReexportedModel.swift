// An app that uses settings defines keys and schemas too: one import is enough for both.
@_exported public import SettingsModel
