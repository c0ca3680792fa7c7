/// An error in a configuration: what is wrong, and what would be right.
package struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong and where, as `settingsd.json: loops is "two"`.
    package let problem: String
    /// What would be right, as `it must be an integer from 0 to 1024`.
    package let remedy: String

    package init(_ problem: String, remedy: String) {
        self.problem = problem
        self.remedy = remedy
    }

    package var description: String { "\(problem): \(remedy)" }
}
