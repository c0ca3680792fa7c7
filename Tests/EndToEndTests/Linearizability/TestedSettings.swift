import SettingsAPI
import SettingsModel
import TestSupport

/// The settings that a test works on, numbered, and what is in them before it begins. They take turns in two suites.
struct TestedSettings {
    /// So many settings, all with values.
    let count: Int

    static let suites = ["left", "right"]

    func suite(of setting: Int) -> String { Self.suites[setting % 2] }
    func key(of setting: Int) -> String { "k\(setting)" }
    func path(of setting: Int) -> String { "/v1/suites/\(suite(of: setting))/keys/\(key(of: setting))" }

    /// The settings that stand in the suite of this one.
    func neighbours(of setting: Int) -> [Int] {
        (0..<count).filter { $0 % 2 == setting % 2 }
    }

    /// The setting by its names; nil if it is none of these.
    func position(_ suite: SuiteName, _ key: KeyName) -> Int? {
        (0..<count).first { suite.text == self.suite(of: $0) && key.text == self.key(of: $0) }
    }

    /// Stores the first values, and tells the model that results.
    func prepare(_ peer: RawClient) throws -> Model {
        var standings: [Model.Standing] = []
        for setting in 0..<count {
            try peer.send(CallForm(settings: self).bytes(.write(if: [], [.init(setting: setting, action: .set(0))])))
            let answer = try peer.readResponse()
            guard answer.status == 201, let body = try? SettingState(json: JSONValue(parsing: answer.body)) else {
                throw UnexpectedAnswer(request: "the first value of \(setting)", answer: answer)
            }
            standings.append(Model.Standing(value: 0, revision: body.revision.number))
        }
        return Model(standings)
    }
}

/// An answer that does not belong to its request.
struct UnexpectedAnswer: Error, CustomStringConvertible {
    let description: String

    init(request: String, answer: RawResponse) {
        description =
            "\(request) was answered \(answer.status) \(answer.fields) \(answer.text)"
    }
}
