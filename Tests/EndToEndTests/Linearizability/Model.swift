/// The settings of a daemon that does one thing at a time.
struct Model: Equatable {
    /// A setting as it stands.
    struct ValueSource: Equatable {
        var value: Int64?
        /// The commit that changed it last.
        var revision: Int64
    }

    private(set) var standings: [ValueSource]

    init(_ standings: [ValueSource]) {
        self.standings = standings
    }

    /// What a write does to a model.
    private enum Effect {
        case refused(Call.Refusal)
        /// The settings that change, with their values afterwards.
        case change([Int: Int64?])
    }

    /// The model after a call that ended as its answer says; nil if it cannot have ended so here.
    func after(_ call: Call) -> Model? {
        switch (call.request, call.outcome) {
        case (.read, .shown(let sights)): return agrees(with: sights) ? self : nil
        case (.write(let conditions, let steps), let outcome):
            switch (effect(of: steps, if: conditions), outcome) {
            case (.refused(.condition), .refused(.condition, let sights)),
                (.refused(.unset), .refused(.unset, let sights)):
                return agrees(with: sights) ? self : nil
            case (.change(let values), .unchanged(let sights)):
                return values.isEmpty && agrees(with: sights) ? self : nil
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

    /// The model after a write without an answer, if it was made; nil if it would have changed nothing.
    func after(lost call: Call, at revision: Int64) -> Model? {
        guard case .write(let conditions, let steps) = call.request,
            case .change(let values) = effect(of: steps, if: conditions), !values.isEmpty
        else { return nil }
        return changed(values, at: revision)
    }

    private func agrees(with sights: [Call.Sight]) -> Bool {
        sights.allSatisfy { sight in
            let valueSource = standings[sight.setting]
            return valueSource.value == sight.value && (sight.revision ?? valueSource.revision) == valueSource.revision
        }
    }

    /// The model with these values, set by a commit.
    func changed(_ values: [Int: Int64?], at revision: Int64) -> Model {
        var model = self
        for (setting, value) in values { model.standings[setting] = ValueSource(value: value, revision: revision) }
        return model
    }

    private func effect(of steps: [Call.Step], if conditions: [Call.Condition]) -> Effect {
        guard conditions.allSatisfy(holds) else { return .refused(.condition) }
        var values: [Int: Int64?] = [:]
        for step in steps {
            let present = values[step.setting] ?? standings[step.setting].value
            switch step.action {
            case .set(let value): values[step.setting] = .some(value)
            case .remove: values[step.setting] = .some(nil)
            case .add(let amount):
                guard let present else { return .refused(.unset) }
                values[step.setting] = .some(present + amount)
            }
        }
        return .change(values.filter { setting, value in standings[setting].value != value })
    }

    private func holds(_ condition: Call.Condition) -> Bool {
        switch condition {
        case .isAt(let setting, let revision): standings[setting].revision == revision
        case .isStored(let setting, let isStored): (standings[setting].value != nil) == isStored
        case .hasValue(let setting, let value): standings[setting].value == value
        }
    }
}

extension Model: CustomStringConvertible {
    var description: String {
        standings.enumerated().map { index, valueSource in
            "\(index)=\(valueSource.value.map(String.init) ?? "unset")@\(valueSource.revision)"
        }.joined(separator: " ")
    }
}
