/// A document with every kind of value, every escape, and characters of each length in UTF-8. Tests change bytes of the
/// document, or truncate the document.
enum SampleDocument {
    static let text = #"""
        {
          "null": null, "true": true, "false" : false,
          "integers": [0, -1, 9223372036854775807, -9223372036854775808],
          "doubles": [0.5, -0.0, 1E+2, 1.5e-3, 2.2250738585072011e-308, 0.1000000000000000055511151231257827],
          "escapes": "\" \\ \/ \b \f \n \r \t \u0041 \u00e9 \uD83D\uDE00",
          "text": "plain é e\#u{301} € 😀",
          "empty": [{}, [], ""],
          "nested": {"a": {"b": [[1, 2], [3, {"c": null}]]}}
        }
        """#

    static let bytes = Array(text.utf8)
}
