// A program that imports SettingsClient needs no further import for its keys, and for the types that it names when it
// creates an adapter or publishes a schema.
@_exported public import SettingsKeys

@_exported public import enum SettingsModel.ConflictPolicy
@_exported public import struct SettingsModel.ServerAddress
@_exported public import struct SettingsModel.SuiteName
