/// Requests that many tables begin with.
enum Samples {
    /// A schema of one key of each kind that the tables speak of.
    static let schema: Request = """
        PUT app/schema {"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",\
        "additionalProperties":false,"patternProperties":{"^x-":true},"properties":{\
        "volume":{"type":"number","maximum":1,"default":0.5},"count":{"type":"integer"},\
        "fixed":{"readOnly":true,"type":"integer","default":1},"name":{"type":"string","maxLength":3},\
        "tags":{"type":"array","items":{"type":"string"},"maxItems":3},"isOn":{"type":"boolean","default":false},\
        "shape":{"type":"object","properties":{"width":{"type":"integer"},"height":{"type":"integer"}},\
        "additionalProperties":false}}}
        """

    /// A schema that admits nothing of what the one above does, but numbers to 10.
    static let narrow: Request = """
        PUT app/schema?onConflict=keep {"additionalProperties":false,"properties":{\
        "volume":{"type":"number","maximum":10},"count":{"type":"integer","minimum":0,"maximum":10}}}
        """
}
