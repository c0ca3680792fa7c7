// A program needs one import: these are the types that it names when it makes an adapter and publishes a schema.
@_exported public import SettingsKeys
@_exported public import enum SettingsModel.ConflictPolicy
@_exported public import struct SettingsModel.ServerAddress
@_exported public import struct SettingsModel.SuiteName
