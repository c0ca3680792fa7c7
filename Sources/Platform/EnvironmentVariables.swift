internal import CLinux
internal import Glibc

/// The environment variables of the process.
package enum EnvironmentVariables {
    /// Returns the value of a variable, or nil if the variable is not set.
    package static func value(of name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// Returns the value of a variable, or nil if the variable is not set or is empty.
    package static func nonEmptyValue(of name: String) -> String? {
        value(of: name).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the path in a variable, or nil if the variable is not set or is empty. The path contains escapes for the
    /// bytes that are not UTF-8; see `SystemText.swift`.
    package static func path(in name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(escapingInvalidBytesOf: value)
    }

    /// The values of all variables by name. For several variables with the same name, the dictionary has the value of
    /// the first variable, because `getenv` returns this value.
    package static var all: [String: String] {
        var variables: [String: String] = [:]
        for definition in definitions {
            let text = String(cString: definition)
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, variables[String(parts[0])] == nil { variables[String(parts[0])] = String(parts[1]) }
        }
        return variables
    }

    /// The variables in the format of the C library: `NAME=value`.
    static var definitions: [UnsafeMutablePointer<CChar>] {
        var definitions: [UnsafeMutablePointer<CChar>] = []
        var next = process_environment()
        while let current = next, let definition = current.pointee {
            definitions.append(definition)
            next = current + 1
        }
        return definitions
    }

    /// Returns copies of all definitions with changes, for a new process. The calling code frees the copies. The
    /// function copies C strings, because a Swift string would change bytes that are not UTF-8.
    ///
    /// - Parameter changes: the new values of variables by name. Nil removes a variable.
    static func copiedDefinitions(with changes: [String: String?]) -> [UnsafeMutablePointer<CChar>?] {
        let kept = definitions.filter { definition in
            !changes.keys.contains { name in strncmp(definition, name + "=", name.utf8.count + 1) == 0 }
        }
        let added = changes.compactMap { name, value in value.map { "\(name)=\($0)" } }
        return kept.map { strdup($0) } + added.map { strdup($0) }
    }
}
