/// An error in the configuration, with the correction.
package struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file or the option and the error, for example `settingsd.json: loops is "two"`.
    package let problem: String
    /// The correction, for example `it must be an integer from 0 to 128`.
    package let remedy: String

    package init(_ problem: String, remedy: String) {
        (self.problem, self.remedy) = (problem, remedy)
    }

    package var description: String { "\(problem): \(remedy)" }
}
