// A program names these types when it declares keys, so they need no import of their own.
@_exported public import struct SettingsModel.JSONObject
@_exported public import enum SettingsModel.JSONValue
@_exported public import struct SettingsModel.Schema
