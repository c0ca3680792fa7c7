internal import SettingsAPI
internal import SettingsModel

// The members of a write in a line of the outbox file. "if" contains the conditions and "do" the operations of a
// transaction. "reset" removes all stored values. "yields" says that, if a condition does not hold, the write does not
// fail and the stored value stays (`keepStoredValue`). "change" is the merge plan of a change in place
// (`PendingChange.MergePlan`). The members of the plan are "base", "new", "start" (`valueIfUnset`), "secret" (true if
// the values are secret), and the difference (`delta`): "sum", "append", "concat" or "union".
//
//     "requestKey":"…","if":[…],"do":[…],"change":{"base":5,"new":6,"sum":1,"start":0}
//     "requestKey":"…","if":[…],"do":[…],"yields":true
//     "requestKey":"…","reset":true

extension PendingChange {
    func writeMembers(to writer: inout JSONWriter) {
        writer.name("requestKey")
        writer.write(string: requestKey.text)
        switch action {
        case .removeAll:
            writer.name("reset")
            writer.write(bool: true)
        case .transaction(let transaction):
            if !transaction.conditions.isEmpty { writer.list("if", transaction.conditions) }
            writer.list("do", transaction.operations)
        }
        switch onConflict {
        case .fail: break
        case .keepStoredValue:
            writer.name("yields")
            writer.write(bool: true)
        case .merge(let plan):
            writer.name("change")
            plan.write(to: &writer)
        }
    }

    /// Parses the members. Returns nil if they do not describe a write.
    init?(members json: JSONValue) {
        guard let requestKey = json["requestKey"]?.string.flatMap({ RequestKey($0) }) else { return nil }
        self.requestKey = requestKey
        if json["reset"]?.bool == true {
            action = .removeAll
        } else {
            guard let conditions: [Transaction.Condition] = Self.list(json["if"] ?? []),
                let operations: [Transaction.Operation] = json["do"].flatMap(Self.list)
            else { return nil }
            action = .transaction(Transaction(if: conditions, do: operations))
        }
        if let change = json["change"] {
            guard let plan = MergePlan(json: change) else { return nil }
            onConflict = .merge(plan)
        } else if json["yields"]?.bool == true {
            onConflict = .keepStoredValue
        }
    }

    private static func list<Element: JSONReadable>(_ json: JSONValue) -> [Element]? {
        json.array.flatMap { elements in try? elements.map { element in try Element(json: element) } }
    }
}

extension PendingChange.MergePlan {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        for (name, value) in [("base", base), ("new", new), ("start", valueIfUnset)] {
            guard let value else { continue }
            writer.name(name)
            writer.write(value)
        }
        if isSecret {
            writer.name("secret")
            writer.write(bool: true)
        }
        switch delta {
        case nil: break
        case .sum(let amount):
            writer.name("sum")
            amount.write(to: &writer)
        case .append(let elements):
            writer.name("append")
            writer.write(.array(elements))
        case .concat(let text):
            writer.name("concat")
            writer.write(string: text)
        case .union(let elements):
            writer.name("union")
            writer.write(.array(elements))
        }
        writer.endObject()
    }

    fileprivate init?(json: JSONValue) {
        guard case .object = json else { return nil }
        (base, new, valueIfUnset) = (json["base"], json["new"], json["start"])
        isSecret = json["secret"]?.bool ?? false
        if let sum = json["sum"] {
            guard let amount = try? InPlaceOperation.Amount(json: sum) else { return nil }
            delta = .sum(amount)
        } else if let elements = json["append"] {
            guard let elements = elements.array else { return nil }
            delta = .append(elements)
        } else if let text = json["concat"] {
            guard let text = text.string else { return nil }
            delta = .concat(text)
        } else if let elements = json["union"] {
            guard let elements = elements.array else { return nil }
            delta = .union(elements)
        } else {
            delta = nil
        }
    }
}

extension JSONWriter {
    fileprivate mutating func list(_ name: String, _ elements: [some JSONWritable]) {
        self.name(name)
        beginArray()
        for element in elements { element.write(to: &self) }
        endArray()
    }
}
