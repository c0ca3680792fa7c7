public import SettingsModel

/// What can be read from its form in JSON.
///
/// Answers ignore members they do not know, since a newer server may send more. Requests refuse them, since a member
/// that is misspelt must not be taken for one that was left out. Each type says which of the two it is.
public protocol JSONReadable: SendableMetatype {
    /// Reads the value; the pointer of the error leads from `json` to what was wrong.
    init(json: JSONValue) throws(BodyError)
}
