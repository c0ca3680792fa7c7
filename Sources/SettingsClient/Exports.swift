// A program that imports SettingsClient can also use these modules and types without an import of its own: the keys, and the
// types that it names when it creates an adapter or publishes a schema.
@_exported public import SettingsKeys

@_exported public import enum SettingsModel.ConflictPolicy
@_exported public import struct SettingsModel.ServerAddress
@_exported public import struct SettingsModel.SuiteName
