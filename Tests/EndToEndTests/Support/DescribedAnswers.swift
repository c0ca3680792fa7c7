/// Holds answers against the daemon's own description of its interface.
enum DescribedAnswers {
    static func check(_ answer: Answer, to request: Request, of name: String) {}
}
