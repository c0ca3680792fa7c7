extension Command {
    /// A positional argument of a command.
    struct Operand: Sendable {
        enum Count {
            case one
            case optional
            case any
            case oneOrMore
        }

        /// The placeholder in the usage line, such as `SUITE` or `FILE|DIRECTORY`; for an operand that must be one of a
        /// few words, these words in lower case, separated by `|`.
        let placeholder: String
        let count: Count

        init(_ placeholder: String, _ count: Count = .one) {
            (self.placeholder, self.count) = (placeholder, count)
        }

        static let suite = Operand("SUITE")
        static let optionalSuite = Operand("SUITE", .optional)
        static let key = Operand("KEY")
        static let anyKeys = Operand("KEY", .any)
        static let someKeys = Operand("KEY", .oneOrMore)
        static let file = Operand("FILE")
        static let fileOrDirectory = Operand("FILE|DIRECTORY")

        var isRequired: Bool { count == .one || count == .oneOrMore }

        var isRepeated: Bool { count == .any || count == .oneOrMore }

        /// The operand in a usage line.
        fileprivate var usage: String {
            let text = isRepeated ? "\(placeholder)…" : placeholder
            return isRequired ? text : "[\(text)]"
        }
    }

    /// A form of the command line of a command: a list of operands, and the option that selects the form. An array
    /// literal is a form without an option.
    struct Form: Sendable, ExpressibleByArrayLiteral {
        let operands: [Operand]
        /// The name of the option that selects the form. A command line with this option must have the operands of a
        /// form that the option selects.
        let option: String?

        init(_ operands: [Operand], with option: String) {
            (self.operands, self.option) = (operands, option)
        }

        init(arrayLiteral operands: Operand...) {
            (self.operands, option) = (operands, nil)
        }

        fileprivate func accepts(operandCount count: Int) -> Bool {
            let maximum = operands.last?.isRepeated ?? false ? Int.max : operands.count
            return operands.count(where: \.isRequired) <= count && count <= maximum
        }

        /// The operand at a position; nil after the last operand.
        func operand(at position: Int) -> Operand? {
            if position < operands.count { return operands[position] }
            return operands.last?.isRepeated ?? false ? operands.last : nil
        }
    }

    /// The lines that show how to write the command.
    ///
    /// - Parameter suffix: a text after the operands and the option of each line.
    func usages(suffix: String = "") -> [String] {
        forms.map { form in
            let option = form.option.map { name in
                let value = options.first { $0.name == name }?.placeholder
                return ["--\(name)"] + (value.map { [$0] } ?? [])
            }
            let words = ["settings \(name)"] + form.operands.map(\.usage) + (option ?? [])
            return words.joined(separator: " ") + suffix + (takesProgram ? " -- PROGRAM [ARGUMENT…]" : "")
        }
    }

    /// Returns one list for each given option that selects forms, with the forms of the option. If no such option is
    /// given, returns one list with the forms that need no option. The operands must match a form of each list.
    func selectedForms(_ arguments: Arguments) -> [[Form]] {
        let given = Set(forms.compactMap(\.option).filter(arguments.has))
        guard !given.isEmpty else { return [forms.filter { $0.option == nil }] }
        return given.sorted().map { option in forms.filter { $0.option == option } }
    }

    /// Returns the operands of a form that accepts the command line. Throws if a list of `selectedForms` has no form
    /// that accepts the number of operands.
    func validatedOperands(_ arguments: Arguments) throws(ToolError) -> [Operand] {
        let operands = arguments.operands
        var accepted: [Operand] = []
        for forms in selectedForms(arguments) {
            guard let form = forms.first(where: { $0.accepts(operandCount: operands.count) }) else {
                let usage = "the usage is \(usages().map { "'\($0)'" }.alternatives)"
                if let form = forms.first(where: { $0.operands.count > operands.count }) {
                    throw .usage("\(form.operands[operands.count].placeholder) is missing; \(usage)")
                }
                let maximumCount = forms.map(\.operands.count).max() ?? 0
                throw .usage("'\(Terminal.escaped(operands[maximumCount]))' is one argument too many; \(usage)")
            }
            accepted = form.operands
        }
        return accepted
    }
}

extension [String] {
    /// The elements as a list in a sentence: `a, b or c`.
    var alternatives: String {
        guard count > 1, let last else { return first ?? "" }
        return "\(dropLast().joined(separator: ", ")) or \(last)"
    }
}
