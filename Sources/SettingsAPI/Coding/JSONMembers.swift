internal import SettingsModel

/// Members in one call: the name and what stands for it. A member without a value is left out.
extension JSONWriter {
    mutating func member(_ name: String, _ text: String?) {
        guard let text else { return }
        self.name(name)
        write(string: text)
    }

    mutating func member(_ name: String, _ integer: Int64?) {
        guard let integer else { return }
        self.name(name)
        write(integer: integer)
    }

    mutating func member(_ name: String, _ bool: Bool?) {
        guard let bool else { return }
        self.name(name)
        write(bool: bool)
    }

    mutating func member(_ name: String, _ value: (some JSONWritable)?) {
        guard let value else { return }
        self.name(name)
        value.write(to: &self)
    }

    mutating func member(_ name: String, _ list: [some JSONWritable]) {
        self.name(name)
        write(list)
    }

    /// A list that is left out when there is nothing in it.
    mutating func member(_ name: String, unlessEmpty list: [some JSONWritable]) {
        if !list.isEmpty { member(name, list) }
    }

    /// A flag that is left out when it is off.
    mutating func flag(_ name: String, _ isOn: Bool) {
        if isOn { member(name, true) }
    }

    mutating func write(_ list: [some JSONWritable]) {
        beginArray()
        for element in list { element.write(to: &self) }
        endArray()
    }
}
