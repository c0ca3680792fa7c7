/// The settings of a daemon that executes one call at a time.
struct Model: Equatable {
    /// The value and the revision of a setting.
    struct SettingValue: Equatable {
        var value: Int64?
        /// The last commit that changed the setting.
        var revision: Int64
    }

    private(set) var settingValues: [SettingValue]

    init(_ settingValues: [SettingValue]) {
        self.settingValues = settingValues
    }

    /// The effect of a write on a model.
    private enum Effect {
        case refused(Call.Refusal)
        /// The changed settings with their new values.
        case change([Int: Int64?])
    }

    /// The model after a call with its answer; nil if this model does not allow the answer.
    func after(_ call: Call) -> Model? {
        switch (call.request, call.outcome) {
        case (.read, .shown(let shownSettings)): return agrees(with: shownSettings) ? self : nil
        case (.write(let conditions, let steps), let outcome):
            switch (effect(of: steps, if: conditions), outcome) {
            case (.refused(.condition), .refused(.condition, let shownSettings)),
                (.refused(.unset), .refused(.unset, let shownSettings)):
                return agrees(with: shownSettings) ? self : nil
            case (.change(let values), .unchanged(let shownSettings)):
                return values.isEmpty && agrees(with: shownSettings) ? self : nil
            case (.change(let values), .committed(let revision, let before, let after)):
                guard !values.isEmpty, agrees(with: before), Set(after.map(\.setting)) == Set(values.keys) else {
                    return nil
                }
                let changed = changed(values, at: revision)
                return changed.agrees(with: after) ? changed : nil
            default: return nil
            }
        default: return nil
        }
    }

    /// The model after a write without an answer, if the write made the commit `revision`; nil if the write would make
    /// no commit.
    func after(lost call: Call, at revision: Int64) -> Model? {
        guard case .write(let conditions, let steps) = call.request,
            case .change(let values) = effect(of: steps, if: conditions), !values.isEmpty
        else { return nil }
        return changed(values, at: revision)
    }

    private func agrees(with shownSettings: [Call.ShownSetting]) -> Bool {
        shownSettings.allSatisfy { shownSetting in
            let current = settingValues[shownSetting.setting]
            return current.value == shownSetting.value
                && (shownSetting.revision ?? current.revision) == current.revision
        }
    }

    /// The model after a commit with these values.
    func changed(_ values: [Int: Int64?], at revision: Int64) -> Model {
        var model = self
        for (setting, value) in values { model.settingValues[setting] = SettingValue(value: value, revision: revision) }
        return model
    }

    private func effect(of steps: [Call.Step], if conditions: [Call.Condition]) -> Effect {
        guard conditions.allSatisfy(holds) else { return .refused(.condition) }
        var values: [Int: Int64?] = [:]
        for step in steps {
            let present = values[step.setting] ?? settingValues[step.setting].value
            switch step.action {
            case .set(let value): values[step.setting] = .some(value)
            case .remove: values[step.setting] = .some(nil)
            case .add(let amount):
                guard let present else { return .refused(.unset) }
                values[step.setting] = .some(present + amount)
            }
        }
        return .change(values.filter { setting, value in settingValues[setting].value != value })
    }

    private func holds(_ condition: Call.Condition) -> Bool {
        switch condition {
        case .isAt(let setting, let revision): settingValues[setting].revision == revision
        case .isStored(let setting, let isStored): (settingValues[setting].value != nil) == isStored
        case .hasValue(let setting, let value): settingValues[setting].value == value
        }
    }
}

extension Model: CustomStringConvertible {
    var description: String {
        settingValues.enumerated().map { index, current in
            "\(index)=\(current.value.map(String.init) ?? "unset")@\(current.revision)"
        }.joined(separator: " ")
    }
}
