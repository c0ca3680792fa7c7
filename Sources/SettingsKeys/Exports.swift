// A program that imports SettingsKeys can also use these types, which occur in the declarations of keys, without an
// import of SettingsModel.
@_exported public import struct SettingsModel.JSONObject
@_exported public import enum SettingsModel.JSONValue
@_exported public import struct SettingsModel.Schema
