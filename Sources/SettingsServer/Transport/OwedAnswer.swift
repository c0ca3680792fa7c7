import HTTPWire

/// What a request says about the form of its answer.
struct AnswerForm: Equatable, BitwiseCopyable {
    let isHead: Bool
    let isHTTP11: Bool
    /// False if the connection closes after it.
    let keepsAlive: Bool
    /// Which of the handler's `moreFields` it has.
    let fields: Int

    init(of head: RequestHead, fields: Int) {
        isHead = head.method == .head
        isHTTP11 = head.isHTTP11
        keepsAlive = head.keepsAlive
        self.fields = fields
    }

    /// That of an answer to what is no request that could be taken: the connection closes after it.
    init(ofRejected head: RequestHead?, fields: Int) {
        isHead = head?.method == .head
        isHTTP11 = true
        keepsAlive = false
        self.fields = fields
    }
}

/// An answer that a connection is owed.
struct OwedAnswer {
    let form: AnswerForm
    /// Nil until the handler has answered, or begun to.
    var response: Response?
    /// If the body comes bit by bit.
    var stream: AnswerStream?
    /// Whether no further request is taken until it is complete.
    var isAlone = false
    /// When the handler wants to be reminded of it.
    var alarm = DeadlineWheel.never

    init(_ form: AnswerForm, _ response: Response? = nil) {
        self.form = form
        self.response = response
    }

    /// Whether nothing more is to come from the handler.
    var isComplete: Bool { response != nil && (stream?.hasEnded ?? true) }
}
