/// What is wrong with a configuration, and what would be right.
package struct ConfigurationError: Error, Hashable, Sendable {
    /// What is wrong and where, as `settingsd.json: loops is a string`.
    package let problem: String
    /// What would be right, as `it must be an integer from 0 to 1024`.
    package let remedy: String

    package init(_ problem: String, remedy: String) {
        self.problem = problem
        self.remedy = remedy
    }

    /// The same error, with the file that it is in.
    func inFile(_ path: String) -> ConfigurationError {
        ConfigurationError("\(path): \(problem)", remedy: remedy)
    }
}

extension ConfigurationError: CustomStringConvertible {
    package var description: String { "\(problem): \(remedy)" }
}
