import Platform

/// The attempts of a command to make a change that depends on stored values. An attempt fails if another caller changes
/// the values between the read and the write.
enum Attempts {
    static let maximum = 20

    /// Waits for a random time, so that callers that conflicted do not conflict again. Attempt 0 begins without a
    /// pause.
    static func pause(before attempt: Int) {
        CurrentThread.sleep(for: .milliseconds(Int.random(in: 0...(10 * attempt))))
    }

    /// Makes the error after the last attempt.
    ///
    /// - Parameter object: the changed object, for the message.
    static func exhaustedError(changedObject object: String) -> ToolError {
        ToolError(
            .refused,
            "cannot store the change: other callers changed \(object) at each of \(maximum) attempts; "
                + "run the command again"
        )
    }
}
